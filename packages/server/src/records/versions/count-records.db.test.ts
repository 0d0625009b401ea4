import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { ingest } from '../read/testing/walk.ts';
import { type CountRequest, countRecords } from './count-records.ts';

const db = useTestDatabase();
const cold = useColdStore();
const tools = { db, cold, cursorKey: Buffer.alloc(32, 3) };
const size = { rows: 10, bytes: 2 ** 40, days: 4 };

const store = (tenant: string, count: number, prefix = 'e') =>
  ingest(db, cold, [
    numberedRecords(tenant, count, (n) => ({
      store: `S${n % 3}`,
      event_id: `${prefix}${n}`,
      occurred_at: `2001-03-0${1 + (n % 5)}T10:00:00Z`,
      kind: n % 2 === 0 ? 'tag' : 'other',
      enrichment: { n },
    })),
  ]);

/** All pages, added up; `between` runs after the first. */
async function walk(request: CountRequest, between?: () => Promise<unknown>) {
  let page = await countRecords(tools, testActor, request, size);
  let [count, looked, pages] = [page.count, page.looked, 1];
  for (; page.next_cursor !== null; pages += 1) {
    if (pages === 1) await between?.();
    page = await countRecords(tools, testActor, { ...request, cursor: page.next_cursor }, size);
    count += page.count;
    looked += page.looked;
  }
  return { count, looked, pages };
}

test('pages add up to what fits, in both tiers, each over a bounded stretch', async () => {
  await store('T', 60);
  const asked: readonly [Partial<CountRequest>, number][] = [
    [{ where: 'n < 17' }, 17],
    [{ where: 'n < 17', kind: 'tag' }, 9],
    [{ where: 'n < 17', store: 'S1', from: '2001-03-01', to: '2001-03-02' }, 3],
    [{ where: 'n = "17"' }, 0],
    [{ source: 'none' }, 0],
  ];
  for (const isCold of [false, true]) {
    if (isCold) await freeze(db, cold, { tenant: 'T', id: 'seg_T', filter: `store <> 'S2'` });
    for (const [more, count] of asked) {
      const found = await walk({ tenant: 'T', ...more });
      expect({ more, count: found.count }).toEqual({ more, count });
    }
    const { pages, looked } = await walk({ tenant: 'T', where: 'n < 17' });
    expect(looked).toBe(60);
    expect(pages).toBeGreaterThan(3);
  }
});

test('what is stored between two pages is not counted, and what is moved is counted once', async () => {
  await store('moving', 60);
  const later = async () => {
    await store('moving', 30, 'late');
    await freeze(db, cold, { tenant: 'moving', id: 'seg_moving' });
  };
  expect((await walk({ tenant: 'moving', where: 'n < 17' }, later)).count).toBe(17);
  expect((await walk({ tenant: 'moving', where: 'n < 17' })).count).toBe(34);
});

test('counters answer at once without a where, and nothing is told of tenants out of reach', async () => {
  await store('whole', 12);
  const whole = await countRecords(tools, testActor, { tenant: 'whole' }, size);
  expect(whole).toMatchObject({ count: 12, looked: 12, next_cursor: null });
  const limited = { ...testActor, tenants: ['T'] };
  for (const where of [undefined, 'n < 17']) {
    const request = { tenant: 'whole', ...(where && { where }) };
    expect(await countRecords(tools, limited, request, size)).toMatchObject({
      count: 0,
      looked: 0,
    });
  }
  expect(await walk({ tenant: 'nobody', where: 'n < 17' })).toMatchObject({ count: 0, pages: 1 });
});

test('refuses a wrong where, and a cursor of other filters', async () => {
  const count = (request: CountRequest) => countRecords(tools, testActor, request, size);
  await expect(count({ tenant: 'T', where: 'n <' })).rejects.toMatchObject({
    code: 'request_invalid',
    errors: [{ path: '?where' }],
  });
  const { next_cursor } = await count({ tenant: 'T', where: 'n < 17' });
  const cursor = next_cursor ?? '';
  await expect(count({ tenant: 'T', where: 'n < 18', cursor })).rejects.toMatchObject({
    code: 'cursor_invalid',
  });
});
