import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ClaimedRow } from '../claim.ts';
import { outcomeOf } from '../drainer/deliver.ts';
import { type Ended, writeOutcomes } from '../drainer/outcome-writer.ts';
import { outcomeRow } from '../drainer/testing/outcome-row.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';
import { type CountDelta, discardOfEndpoint, shiftCounts } from './queries.ts';
import { purgeDeadLetter, retryDeadLetter } from './retry.ts';
import {
  clearQueue,
  findWrongCounts,
  makeBulkJob,
  readDelivery,
  type SeededEndpoint,
  seedDeliveries,
  seedDelivery,
  seedEndpoint,
  silentAct,
  workOff,
} from './testing/seed.ts';

const db = useTestDatabase();
beforeEach(async () => {
  await clearQueue(db);
});

const readCounts = () =>
  db.query(sql`
    select endpoint_id, status, failure_class, tenant, count from dead_letter_counts
    where count <> 0 order by endpoint_id, status, failure_class`);
const delta = (endpointId: string, by: number, failureClass: FailureClass = 'dns'): CountDelta => ({
  endpointId,
  tenant: 'T',
  status: 'pending',
  failureClass,
  delta: by,
});

test('counts are shifted up and down, several of a key at once', async () => {
  await shiftCounts(db, []);
  await shiftCounts(db, [
    delta('b', 2),
    delta('a', 1),
    delta('b', 3),
    delta('c', 1),
    delta('c', -1),
  ]);
  await shiftCounts(db, [delta('b', -4), delta('b', 1, 'tls')]);
  expect(await readCounts()).toMatchObject([
    { endpoint_id: 'a', status: 'pending', failure_class: 'dns', tenant: 'T', count: 1 },
    { endpoint_id: 'b', failure_class: 'dns', count: 1 },
    { endpoint_id: 'b', failure_class: 'tls', count: 1 },
  ]);
});

test('counts shifted in opposite orders at once do not lock each other out', async () => {
  const deltas = Array.from({ length: 40 }, (_, n) => delta(`e${n}`, 1));
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      shiftCounts(db, n % 2 === 0 ? deltas : deltas.toReversed()),
    ),
  );
  expect(await readCounts()).toEqual(deltas.map(() => expect.objectContaining({ count: 20 })));
});

test('rows of an endpoint are discarded up to a limit, whatever their status', async () => {
  const endpoint = await seedEndpoint(db);
  const beside = await seedEndpoint(db);
  await seedDeliveries(db, endpoint, 3, { status: 'queued', leasedSeconds: 60, isProbe: true });
  await seedDeliveries(db, endpoint, 3, { status: 'pending', failureClass: 'dns' });
  await seedDeliveries(db, endpoint, 3, { status: 'abandoned' });
  const delivered = await seedDelivery(db, endpoint, { status: 'delivered' });
  await seedDelivery(db, beside);
  const done: number[] = [];
  for (let i = 0; i < 4; i++) {
    done.push(await discardOfEndpoint(db, endpoint.id, 4));
    expect(await findWrongCounts(db)).toEqual([]);
  }
  expect(done).toEqual([4, 4, 1, 0]);
  const rows = await db.query(sql`
    select distinct status, version, is_probe, lease, next_attempt_at, finished_at is null as is_open
    from deliveries where endpoint_id = ${endpoint.id} and id <> ${delivered}`);
  expect(rows).toEqual([
    {
      status: 'discarded',
      version: 1,
      is_probe: false,
      lease: null,
      next_attempt_at: null,
      is_open: false,
    },
  ]);
  expect((await readDelivery(db, delivered)).status).toBe('delivered');
  expect(await readCounts()).toMatchObject([{ endpoint_id: beside.id, count: 1 }]);
});

/** Where a status leads to: SPEC §6. */
const ways: Record<DeliveryStatus, readonly DeliveryStatus[]> = {
  queued: ['pending', 'abandoned', 'delivered', 'discarded'],
  pending: ['queued', 'abandoned', 'delivered', 'discarded'],
  abandoned: ['queued', 'discarded'],
  delivered: [],
  discarded: [],
};

type Snapshot = { status: DeliveryStatus; version: number; attempts: number; max_attempts: number };

async function readAll(): Promise<Map<string, Snapshot>> {
  const rows = await db.query<Snapshot & { id: string }>(
    sql`select id, status, version, attempts, max_attempts from deliveries`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** What a drainer does at the end of an attempt. */
async function finishAttempt(id: string, failureClass: FailureClass | null): Promise<void> {
  await db.transaction(async (connection) => {
    const [row] = await connection.query<ClaimedRow>(sql`
      update deliveries set lease = 1 where id = ${id} and status in ('queued', 'pending')
      returning endpoint_id, tenant, status, failure_class, attempts, max_attempts, schedule_from`);
    if (row === undefined) return;
    const outcome = outcomeOf(row, { failureClass, retryAfterSeconds: null }, [3600], 0);
    const ended: Ended = {
      ...{ endpointId: row.endpoint_id, tenant: row.tenant, configVersion: 1, orderKey: null },
      before: { status: row.status, failureClass: row.failure_class },
      row: outcomeRow(id, outcome),
      ...{ startedAt: 0, breaker: null, kind: 'attempted' },
    };
    await writeOutcomes(connection, [ended], { nowMillis: 0, keeper: 0 });
  });
}

async function runJob(on: Queryable, endpoint: SeededEndpoint, n: number): Promise<void> {
  const more = { endpoint_id: endpoint.id, maxAttempts: 2 };
  await makeBulkJob(on, `rty_${n}_${endpoint.id}`, more);
  await workOff(db);
}

test('whatever happens to deliveries, counts are right and no status is left by a wrong way', async () => {
  const refuseHold = async () => {};
  const options = { act: silentAct, wakeUp: { wake() {} }, maxAttempts: 2, refuseHold };
  const row = fc.nat({ max: 5 });
  const failure = fc.constantFrom<FailureClass | null>('dns', 'status', 'reset', null);
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ what: fc.constant('attempt'), row, failure }) },
    { weight: 3, arbitrary: fc.record({ what: fc.constant('retry'), row, failure }) },
    {
      weight: 1,
      arbitrary: fc.record({ what: fc.constantFrom('purge', 'job', 'discard'), row, failure }),
    },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { maxLength: 15 }),
      async (rounds) => {
        await clearQueue(db);
        const endpoints = [await seedEndpoint(db), await seedEndpoint(db)] as const;
        const ids: string[] = [];
        for (let i = 0; i < 6; i++) {
          ids.push(
            await seedDelivery(db, endpoints[i % 2 === 0 ? 0 : 1], {
              status: 'queued',
              maxAttempts: 2,
            }),
          );
        }
        let jobs = 0;
        const take = async ({
          what,
          row: at,
          failure: how,
        }: {
          what: string;
          row: number;
          failure: FailureClass | null;
        }) => {
          const id = ids[at] ?? '';
          const endpoint = endpoints[at % 2 === 0 ? 0 : 1];
          if (what === 'attempt') return finishAttempt(id, how);
          if (what === 'retry') return refusedOr(retryDeadLetter(db, id, options));
          if (what === 'purge') return refusedOr(purgeDeadLetter(db, id, options));
          if (what === 'discard') return discardOfEndpoint(db, endpoint.id, 1);
          return runJob(db, endpoint, jobs++);
        };
        for (const round of rounds) {
          const before = await readAll();
          // What happens in one round happens at once.
          await Promise.all(round.map(take));
          assertWays(before, await readAll(), round.length);
          expect(await findWrongCounts(db)).toEqual([]);
        }
      },
    ),
    { numRuns: runs(15) },
  );
});

async function refusedOr(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'delivery_finished') throw error;
  });
}

/** Every change of status is told by the version, and led there along the ways of the state machine. */
function assertWays(
  before: Map<string, Snapshot>,
  after: Map<string, Snapshot>,
  steps: number,
): void {
  for (const [id, now] of after) {
    const was = before.get(id);
    if (was === undefined) throw new Error('a delivery came out of nothing');
    const hops = now.version - was.version;
    expect(hops).toBeGreaterThanOrEqual(was.status === now.status ? 0 : 1);
    expect(reached(was.status, hops, steps)).toContain(now.status);
    if (now.status === 'abandoned') expect(now.attempts).toBe(now.max_attempts);
    if (now.status === 'pending') expect(now.attempts).toBeLessThan(now.max_attempts);
  }
}

function reached(from: DeliveryStatus, hops: number, steps: number): readonly DeliveryStatus[] {
  expect(hops).toBeLessThanOrEqual(steps);
  let found: DeliveryStatus[] = [from];
  for (let i = 0; i < hops; i++) found = found.flatMap((status) => ways[status]);
  return found;
}
