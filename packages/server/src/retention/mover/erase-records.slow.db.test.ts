import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import { literal } from '../../platform/duckdb.ts';
import { createLog } from '../../platform/log.ts';
import { subtractTriples, sumTriples } from '../../records/segments.ts';
import type { EraseReceipt, EraseRequest } from '../contract.ts';
import { removeObjects } from './run-move.ts';
import { auditOf, erasedDays, eraseOnce, seedErased } from './testing/eraser.ts';
import { at, dieAt, killPoints } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal, objectKeysOf, stateOf } from './testing/truth.ts';

const mover = useTestMover();

const never = new AbortController().signal;
const [first, second, third] = erasedDays;
/** Event ids e-0 … e-4 on every day. */
const seed = (tenant: string) => seedErased(mover, tenant);
const state = (tenant: string) => stateOf(mover, tenant);

async function tenantTriple(tenant: string) {
  const rows = await mover.db.query<{ count: number; bytes: number; digest: string }>(
    sql`select count, bytes, digest from leaf_tenants where tenant = ${tenant}`,
  );
  return sumTriples(rows);
}

function erasedTriple({ erased }: EraseReceipt) {
  return { ...erased, digest: BigInt(`0x${erased.digest}`).toString() };
}

/** Erases, and holds the receipt against what the counters lost. */
async function erase(request: EraseRequest, more: Parameters<typeof eraseOnce>[2] = {}) {
  const before = await tenantTriple(request.tenant);
  const receipt = await eraseOnce(mover, request, more);
  const after = await tenantTriple(request.tenant);
  expect(erasedTriple(receipt)).toEqual(subtractTriples(before, after));
  expect(receipt.hot_count + receipt.cold_count).toBe(receipt.erased.count);
  expect(await differences(mover, request.tenant)).toEqual([]);
  return receipt;
}

/** How many records of both tiers have such an event id, by what the tables and files hold. */
async function countOf(tenant: string, eventId: string): Promise<number> {
  const [hot] = await mover.db.query<{ count: number }>(
    sql`select count(*) as count from enrichment_records where tenant = ${tenant} and event_id = ${eventId}`,
  );
  let count = hot?.count ?? 0;
  for (const key of await objectKeysOf(mover, tenant)) {
    const [cold] = await mover.duckdb.run<{ count: string }>(
      `select count(*) as count from ${literal(mover.store.pathOf(key) ?? '')}
      where tenant = ${literal(tenant)} and event_id = ${literal(eventId)}`,
    );
    count += Number(cold?.count);
  }
  return count;
}

const cases = [
  ['event ids', { event_ids: ['e-1', 'late-0', 'none'] }, { hot: 4, cold: 4, segments: 2 }],
  [
    'an event id of one day',
    { event_ids: ['e-1'], from: second, to: second },
    { hot: 0, cold: 2, segments: 1 },
  ],
  ['days of both tiers', { from: first, to: second }, { hot: 2, cold: 20, segments: 2 }],
  ['a hot day', { from: third, to: third }, { hot: 10, cold: 0, segments: 0 }],
  ['a store', { store: 'DFW' }, { hot: 6, cold: 10, segments: 2 }],
  ['a store on a day', { store: 'ORD', from: first, to: first }, { hot: 1, cold: 5, segments: 1 }],
  ['all days', { from: first, to: third }, { hot: 12, cold: 20, segments: 2 }],
] as const;

test.each(cases)('erases by %s in both tiers, and a dry run told so', async (name, more, found) => {
  const tenant = `by ${name}`;
  await seed(tenant);
  const request = { tenant, ...structuredClone(more) } as EraseRequest;
  const before = await state(tenant);
  const dry = await eraseOnce(mover, { ...request, dry_run: true });
  expect(await state(tenant)).toEqual(before);
  const receipt = await erase(request);
  expect(receipt).toMatchObject({
    dry_run: false,
    hot_count: found.hot,
    cold_count: found.cold,
    segments_rewritten: found.segments,
    not_found: request.event_ids?.includes('none') ? ['none'] : [],
    requested_at: '2026-06-01T00:00:00.000000Z',
    erased_at: expect.stringMatching(/^2\d{3}-/),
  });
  const { erased, hot_count, cold_count, segments_rewritten, not_found } = receipt;
  expect(dry).toMatchObject({ erased, hot_count, cold_count, segments_rewritten, not_found });
  expect(dry).toMatchObject({ id: null, dry_run: true, state: null, erased_at: null });
  expect(await auditOf(mover, tenant)).toEqual([
    {
      action: 'records.erase',
      target: receipt.id,
      after: expect.objectContaining({
        count: erased.count,
        event_ids: request.event_ids?.length ?? null,
      }),
    },
  ]);
  expect((await eraseOnce(mover, { ...request, dry_run: true })).erased.count).toBe(0);
});

test('what was erased is in no object once the grace is over, and nowhere in the journal', async () => {
  await seed('gone');
  expect(await countOf('gone', 'e-1')).toBe(6);
  const receipt = await erase({ tenant: 'gone', event_ids: ['e-1'] });
  expect(receipt).toMatchObject({ state: 'switched', objects_removed_after: expect.any(String) });
  await removeObjects(mover.context(), never);
  expect(await countOf('gone', 'e-1')).toBe(0);
  expect(await countOf('gone', 'e-2')).toBe(6);
  expect((await journal(mover, 'gone')).at(-1)).toMatchObject({ kind: 'erase', state: 'removed' });
  const [told] = await mover.db.query(sql`
    select count(*) as count from moves where tenant = 'gone' and request::text like '%e-1%'`);
  expect(told).toEqual({ count: 0 });
});

test('replaced objects are kept a minute at most', async () => {
  await seed('grace');
  await erase({ tenant: 'grace', event_ids: ['e-1'] }, { graceSeconds: 3600 });
  const [kept] = await mover.db.query<{ seconds: number }>(sql`
    select round(extract(epoch from max(remove_after - switched_at)))::int as seconds
    from object_removals join moves using (tenant) where moves.id = move_id and tenant = 'grace'`);
  expect(kept?.seconds).toBe(60);
});

test('records that fit and come while it copies are erased too', async () => {
  await seed('racing');
  const come = () =>
    addRecords(mover.db, makeRecords('racing', { days: ['2001-05-01'], perDay: 2 }));
  const request = { tenant: 'racing', event_ids: ['e-1'] };
  const receipt = await eraseOnce(mover, request, at('copied after', come));
  expect(receipt).toMatchObject({ hot_count: 4, cold_count: 4 });
  await removeObjects(mover.context(), never);
  expect(await countOf('racing', 'e-1')).toBe(0);
  expect(await countOf('racing', 'e-0')).toBe(8);
  expect(await differences(mover, 'racing')).toEqual([]);
});

test('nothing that fits is told at once, without a move', async () => {
  await seed('none');
  const before = await journal(mover, 'none');
  const receipt = await erase({ tenant: 'none', event_ids: ['x', 'y'] });
  expect(receipt).toMatchObject({
    id: expect.stringMatching(/^ers_/),
    erased: { count: 0, bytes: 0, digest: '0000000000000000' },
    not_found: ['x', 'y'],
    erased_at: '2026-06-01T00:00:00.000000Z',
  });
  expect(await journal(mover, 'none')).toEqual(before);
  expect(await auditOf(mover, 'none')).toMatchObject([{ target: receipt.id, after: { count: 0 } }]);
});

test.each(killPoints)('killed at %s, the next mover of the tenant finishes it', async (point) => {
  const tenant = `kill ${point}`;
  await seed(tenant);
  const before = await tenantTriple(tenant);
  const request = { tenant, event_ids: ['e-1', 'e-3'] };
  await expect(eraseOnce(mover, request, dieAt(point))).rejects.toThrow('killed');
  expect(await differences(mover, tenant)).toEqual([]);
  await mover.move(tenant, '2001-01-01');
  expect(await differences(mover, tenant)).toEqual([]);
  expect((await tenantTriple(tenant)).count).toBe(before.count - 12);
  await removeObjects(mover.context(), never);
  expect(await countOf(tenant, 'e-3')).toBe(0);
  const [erasure] = await mover.db.query<{ gone_count: number; state: string }>(
    sql`select gone_count, state from moves where tenant = ${tenant} and kind = 'erase'`,
  );
  expect(erasure).toEqual({ gone_count: 12, state: 'removed' });
});

test('an erasure that takes long is answered as it stands, and goes on', async () => {
  await seed('slow');
  let tellAnswered = (_receipt: EraseReceipt) => {};
  const answered = new Promise<EraseReceipt>((resolve) => {
    tellAnswered = resolve;
  });
  const slow = at('copied after', () => answered);
  const request = { tenant: 'slow', store: 'DFW' };
  const log = createLog('silent');
  const mistakes = vi.spyOn(log, 'error');
  await eraseOnce(mover, request, { ...slow, answerMillis: 0, onAnswer: tellAnswered, log });
  // The end of the process broke it off, which is no mistake.
  expect(mistakes).not.toHaveBeenCalled();
  expect(await answered).toMatchObject({
    dry_run: false,
    state: expect.stringMatching(/^(planned|copied)$/),
    erased: { count: 16 },
    hot_count: 6,
    cold_count: 10,
    erased_at: null,
  });
  await mover.move('slow', '2001-01-01');
  expect(await differences(mover, 'slow')).toEqual([]);
  expect(await countOf('slow', 'late-0')).toBe(1);
});

test.each([
  { error: new AppError('database_unavailable'), level: 'warn' },
  { error: new Error('our own'), level: 'error' },
] as const)(
  'what breaks an erasure off after its answer is logged: $error.message',
  async (row) => {
    const tenant = row.level;
    await seed(tenant);
    let tellAnswered = () => {};
    const answered = new Promise<void>((resolve) => {
      tellAnswered = resolve;
    });
    const breakOff = at('copied after', async () => {
      await answered;
      throw row.error;
    });
    const log = createLog('silent');
    const logged = vi.spyOn(log, row.level);
    const onAnswer = async () => {
      tellAnswered();
      await expect.poll(() => logged.mock.calls).toHaveLength(1);
    };
    const request = { tenant, store: 'DFW' };
    await eraseOnce(mover, request, { ...breakOff, answerMillis: 0, onAnswer, log });
    await mover.move(tenant, '2001-01-01');
  },
);
