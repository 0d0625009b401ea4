import { beforeAll, describe, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';
import { bothTiers, ingest, page, pagesOf } from './testing/walk.ts';

const db = useTestDatabase();
const cold = useColdStore();
const order = ['asc', 'desc'] as const;

// Twelve records of two stores each, two of each time; days 1 and 2 are cold, and one record of day 3.
const at = (n: number) =>
  `2001-01-0${1 + Math.floor(n / 4)}T0${Math.floor(n / 2) % 2}:00:00.000000Z`;
const records = ['A', 'B'].flatMap((store) =>
  numberedRecords('T', 12, (n) => ({
    store,
    event_id: `e${String(n).padStart(2, '0')}`,
    occurred_at: at(n),
  })),
);
const slice = { tenant: 'T', store: 'A' };
const ids = records.slice(0, 12).map(({ event_id }) => event_id);
const tiers = bothTiers(db, cold);

beforeAll(async () => {
  await ingest(db, cold, [records]);
  await freeze(db, cold, { tenant: 'T', id: 'seg_1', lastDay: '2001-01-02' });
  await freeze(db, cold, { tenant: 'T', id: 'seg_2', filter: `event_id = 'e09'` });
});

describe.each(order)('%s', (order) => {
  const all = order === 'asc' ? ids : ids.toReversed();
  const inOrder = (first: string, second: string) =>
    order === 'asc' ? first <= second : first >= second;
  const read = async (more: object) => {
    const { data, next, prev } = await page(tiers, { ...slice, order, limit: 3, ...more });
    return { ids: data.map(({ event_id }) => event_id), next, prev };
  };
  const walk = async (more: object, way: 'next' | 'prev') => {
    const shown = await pagesOf(tiers, { ...slice, order, limit: 3, ...more }, { way });
    const pages = shown.map(({ data }) => data.map(({ event_id }) => event_id));
    return way === 'next' ? pages.flat() : pages.toReversed().flat();
  };

  test.each([
    '2000-01-01T00:00:00Z',
    ...ids.map((_, n) => at(n)),
    '2001-01-02T00:30:00Z',
    '2002-01-01T00:00:00Z',
  ])('from %s on, and back to the beginning', async (start) => {
    const from = all.findIndex((id) => inOrder(start, at(Number(id.slice(1)))));
    const cut = from < 0 ? all.length : from;
    expect(await walk({ start }, 'next')).toEqual(all.slice(cut));
    const first = await read({ start });
    expect(await walk({ start }, 'prev')).toEqual([...all.slice(0, cut), ...first.ids]);
  });

  test('the last page, and all before it', async () => {
    const last = await read({ start: 'last' });
    expect([last.ids, last.next]).toEqual([all.slice(-3), null]);
    expect(await walk({ start: 'last' }, 'prev')).toEqual(all);
    const short = await read({ start: 'last', limit: 100 });
    expect(short).toEqual({ ids: all, next: null, prev: null });
  });
});

test('the last page of a tenant is that of its last store', async () => {
  const { data } = await page(tiers, { tenant: 'T', start: 'last', limit: 1 });
  expect(data).toMatchObject([{ store: 'B', event_id: 'e11' }]);
});

test.each([
  ['oldest', '2001-01-31T08:00:00Z'],
  ['newest', '2001-03-01T08:00:00Z'],
] as const)(
  'the %s cold records of a month have no others, from a time beyond it',
  async (order, start) => {
    const tenant = `beyond ${order}`;
    const days = ['2001-01-31', '2001-02-01', '2001-02-28', '2001-03-01'];
    const at = (n: number) => `${days[n]}T08:00:00Z`;
    await ingest(db, cold, [numberedRecords(tenant, 4, (n) => ({ occurred_at: at(n) }))]);
    await freeze(db, cold, { tenant, id: `seg_${order}` });
    const request = { tenant, order, month: '2001-02' } as const;
    const read = async (more: object) =>
      (await pagesOf(tiers, { ...request, ...more })).flatMap(({ data }) =>
        data.map(({ event_id }) => event_id),
      );
    const inMonth = order === 'oldest' ? ['e1', 'e2'] : ['e2', 'e1'];
    expect([await read({}), await read({ start })]).toEqual([inMonth, inMonth]);
  },
);

test.each([
  [{ ...slice, start: 'yesterday' }, '?start'],
  [{ tenant: 'T', start: at(0) }, '?start'],
  [{ ...slice, start: at(0), cursor: 'c' }, '?start'],
])('%o is refused', async (request, path) => {
  await expect(page(tiers, request)).rejects.toMatchObject({
    code: 'request_invalid',
    errors: [{ path }],
  });
});
