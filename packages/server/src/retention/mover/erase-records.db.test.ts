import { unlink, writeFile } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { seedPolicy } from '../policies/testing/seed.ts';
import { getErasure } from './erase-records.ts';
import { auditOf, erasedDays, eraseOnce, incidentsLeft, seedErased } from './testing/eraser.ts';
import { at } from './testing/points.ts';
import { useTestMover } from './testing/test-mover.ts';
import { differences, objectKeysOf, stateOf, totals } from './testing/truth.ts';

// What is refused. What is erased, and all kills: erase-records.slow.db.test.ts.

const mover = useTestMover();

const [first, second] = erasedDays;
const seed = (tenant: string) => seedErased(mover, tenant);
const state = (tenant: string) => stateOf(mover, tenant);
const hold = (tenant: string) => seedPolicy(mover.db, { tenant, hotDays: 3, hold: true });

test.each([
  ['nothing but a tenant', {}],
  ['a day without its end', { from: first }],
  ['an end without its day', { store: 'DFW', to: first }],
  ['days in the wrong order', { from: second, to: first }],
])('refuses %s with 400', async (_name, more) => {
  await expect(eraseOnce(mover, { tenant: 'any', ...more })).rejects.toMatchObject({
    code: 'request_invalid',
  });
});

test('a legal hold refuses, whether the own or the default policy has it', async () => {
  await seed('held');
  const before = await state('held');
  await hold('held');
  await expect(eraseOnce(mover, { tenant: 'held', store: 'DFW' })).rejects.toMatchObject({
    code: 'tenant_on_hold',
  });
  expect(await state('held')).toEqual(before);
  expect(
    (await eraseOnce(mover, { tenant: 'held', store: 'DFW', dry_run: true })).erased.count,
  ).toBe(16);
});

test('a hold set while it copies stops it', async () => {
  await seed('late-hold');
  const before = await totals(mover, 'late-hold');
  const late = at('verified after', () => hold('late-hold'));
  await expect(eraseOnce(mover, { tenant: 'late-hold', store: 'DFW' }, late)).rejects.toMatchObject(
    { code: 'tenant_on_hold' },
  );
  expect(await totals(mover, 'late-hold')).toEqual(before);
  expect(await differences(mover, 'late-hold')).toEqual([]);
});

test('from the journal on a receipt says that incidents are still to go, so that no kill hides it', async () => {
  await seed('to-go');
  const told: unknown[] = [];
  const tell = at('verified after', async () => {
    const { target } = (await auditOf(mover, 'to-go'))[0] ?? {};
    const { incidents, remains } = await getErasure(mover.db, testActor, target ?? '');
    told.push({ count: incidents?.count, remains });
  });
  const request = { tenant: 'to-go', store: 'DFW', incidents: true };
  const receipt = await eraseOnce(mover, request, { ...tell, incidentCount: 2 });
  expect(told).toEqual([{ count: 0, remains: expect.arrayContaining([incidentsLeft]) }]);
  expect(receipt.incidents?.count).toBe(2);
  expect(receipt.remains).not.toContainEqual(incidentsLeft);
});

test('one that fails says which incidents of its subject went before the records', async () => {
  await seed('half');
  const before = await totals(mover, 'half');
  const late = at('verified after', () => hold('half'));
  const subject = { field: 'n', value: '1' };
  const request = { tenant: 'half', subject, incidents: true };
  await expect(eraseOnce(mover, request, { ...late, incidentCount: 2 })).rejects.toMatchObject({
    code: 'tenant_on_hold',
    detail: expect.stringMatching(
      /^No record was erased \(mov_.* of moves\)\. .* before them 2 incidents of the subject went/,
    ),
  });
  expect(await totals(mover, 'half')).toEqual(before);
  const moves = await mover.db.query(sql`
    select state, request from moves where tenant = 'half' and kind = 'erase'`);
  expect(moves).toEqual([{ state: 'failed', request: null }]);
});

test('one that the store refuses has let no incident of its subject go', async () => {
  await seed('refused');
  const refuse = () => Promise.reject(new AppError('store_fenced', { detail: 'Not ours.' }));
  const fence = { advance: refuse, assertOwn: refuse };
  const request = { tenant: 'refused', subject: { field: 'n', value: '1' }, incidents: true };
  await expect(eraseOnce(mover, request, { fence, incidentCount: 2 })).rejects.toMatchObject({
    code: 'store_fenced',
    detail: 'Not ours.',
  });
});

test('a tenant that a mover has answers 409 with when to come back', async () => {
  await seed('busy');
  const before = await state('busy');
  const session = await mover.db.openSession();
  await session.query(sql`select pg_advisory_lock(${advisoryLocks.moves}, hashtext('busy'))`);
  const refused = eraseOnce(mover, { tenant: 'busy', store: 'DFW' }, { lockMillis: 0 });
  await expect(refused).rejects.toMatchObject({ code: 'tenant_busy', retryAfterSeconds: 60 });
  expect(await state('busy')).toEqual(before);
  await session.close();
});

test('a foreign tenant looks like one without records, and nothing happens to it', async () => {
  await seed('foreign');
  const before = await state('foreign');
  const actor = { ...testActor, tenants: ['mine'] };
  for (const dry_run of [true, false]) {
    const request = { store: 'DFW', event_ids: ['e-1'], dry_run };
    const foreign = await eraseOnce(mover, { tenant: 'foreign', ...request }, { actor });
    const empty = await eraseOnce(mover, { tenant: 'mine', ...request }, { actor });
    const id = dry_run ? null : expect.stringMatching(/^ers_/);
    expect(foreign).toEqual({ ...empty, id, tenant: 'foreign' });
    expect(empty).toMatchObject({ id, erased: { count: 0 }, not_found: ['e-1'] });
  }
  expect(await state('foreign')).toEqual(before);
});

test('a segment that is damaged refuses the erasure before anything is journalled', async () => {
  await seed('damaged');
  const [key = ''] = await objectKeysOf(mover, 'damaged');
  const path = mover.store.pathOf(key) ?? '';
  const before = await state('damaged');
  await writeFile(path, 'no segment');
  await expect(eraseOnce(mover, { tenant: 'damaged', event_ids: ['e-1'] })).rejects.toMatchObject({
    code: 'segment_damaged',
  });
  expect(await state('damaged')).toEqual(before);
});

test('a lost object keeps whole days from nothing, and a part of its days from being erased', async () => {
  await seed('lost');
  const [key = ''] = await objectKeysOf(mover, 'lost');
  await unlink(mover.store.pathOf(key) ?? '');
  const part = { tenant: 'lost', store: 'DFW', from: first, to: second };
  await expect(eraseOnce(mover, part)).rejects.toMatchObject({ code: 'segment_damaged' });
  const receipt = await eraseOnce(mover, { tenant: 'lost', from: first, to: second });
  expect(receipt).toMatchObject({ erased: { count: 22 }, cold_count: 20 });
  expect(await differences(mover, 'lost')).toEqual([]);
});
