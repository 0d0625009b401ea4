import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { testActor } from '../../../../test/actor.ts';
import { createAudit } from '../../../access/index.ts';
import type { Actor } from '../../../kernel/actor.ts';
import { createLog } from '../../../platform/log.ts';
import { createObjectReader } from '../../../platform/objects/reader.ts';
import type { EraseReceipt, EraseRequest, ForgetRequest, Forgotten } from '../../contract.ts';
import type { EraseContext } from '../erase-records.ts';
import { createEraser, type Eraser, type EraserOptions } from '../eraser.ts';
import type { MoverContext } from '../move.ts';
import { addRecords, makeRecords, type TestMover } from './test-mover.ts';

type More = Partial<MoverContext> &
  Pick<EraserOptions, 'lockMillis' | 'answerMillis'> & {
    actor?: Actor;
    /** How many incidents go with the records. */
    incidentCount?: number;
    /** Is told the answer while what may be left of the work goes on. */
    onAnswer?: (receipt: EraseReceipt) => unknown;
  };

export const erasedDays = ['2001-03-30', '2001-03-31', '2001-04-01'] as const;

/** Stores two segments and a hot day, with late hot records on the first. */
export async function seedErased(mover: TestMover, tenant: string): Promise<void> {
  const [first, second, third] = erasedDays;
  for (const day of [first, second]) {
    await addRecords(mover.db, makeRecords(tenant, { days: [day] }));
    await mover.move(tenant, day);
  }
  await addRecords(mover.db, makeRecords(tenant, { days: [third] }));
  await addRecords(mover.db, makeRecords(tenant, { days: [first], prefix: 'late', perDay: 1 }));
}

/** Erases as the service does, by another process each time. */
export async function eraseOnce(
  mover: TestMover,
  request: EraseRequest,
  { actor = testActor, onAnswer, ...more }: More = {},
): Promise<EraseReceipt> {
  return withEraser(mover, more, async (eraser) => {
    const receipt = await eraser.erase({ actor, request: testRequest }, request);
    await onAnswer?.(receipt);
    return receipt;
  });
}

/** Gives a segment up as the service does, by another process each time. */
export function forgetOnce(
  mover: TestMover,
  request: ForgetRequest,
  { actor = testActor, ...more }: More = {},
): Promise<Forgotten> {
  return withEraser(mover, more, (eraser) =>
    eraser.forget({ actor, request: testRequest }, request),
  );
}

/** What an eraser of another process works with. `objects` must not be read. */
export function eraseContextOf(mover: TestMover): EraseContext {
  const objects = {} as EraseContext['objects'];
  return { ...mover.context(), objects, audit: createAudit(), lockMillis: 0 };
}

/** Stands in a receipt until all incidents have gone. */
export const incidentsLeft = { what: 'incidents', until: null, note: 'not all' } as const;

async function withEraser<T>(
  mover: TestMover,
  more: More,
  work: (eraser: Eraser) => Promise<T>,
): Promise<T> {
  const context = mover.context(more);
  const log = createLog('silent');
  const dir = join(context.spoolDir, 'reader');
  const objects = createObjectReader(mover.store, { dir, maxBytes: 2 ** 30, log });
  const erased = { count: more.incidentCount ?? 0, cancelled: 0, answers: 0, keys: 0 };
  const eraser = createEraser({
    ...context,
    ...more,
    objects,
    audit: createAudit(),
    incidents: {
      begun: { erased: { ...erased, count: 0 }, remains: [incidentsLeft] },
      plan: async () => erased,
      async erase(_act, _scope, { note, onGone }) {
        await note(mover.db, { erased, remains: [] });
        onGone(erased.count);
      },
    },
    clock: () => Date.parse('2026-06-01T00:00:00Z'),
  });
  try {
    return await work(eraser);
  } finally {
    await eraser.stop();
    await objects.close();
  }
}

export const testRequest = {
  id: 'req_test',
  ip: '127.0.0.1',
  headers: {},
} as unknown as FastifyRequest;

export async function auditOf(mover: TestMover, tenant: string) {
  return mover.db.query<{ action: string; target: string | null; after: Record<string, unknown> }>(
    sql`select action, target, after from audit_log where tenant = ${tenant} order by at, id`,
  );
}
