import fc from 'fast-check';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { compareText } from '../../kernel/names.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { arbitraryTags, putTags, type TestTag } from '../tags/testing/arbitrary-tags.ts';
import { datasetNames } from '../values.ts';
import type { PageRequest } from './pages.ts';
import { useColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';
import { bothTiers, ingest, page, pagesOf, walk } from './testing/walk.ts';

const db = useTestDatabase();
const cold = useColdStore();
const records = bothTiers(db, cold);

type Event = { store: string; event_id: string; day: string; micros: string; kind: string };

const isIn = ({ store, day }: Event, tag: TestTag) =>
  (tag.store === null || tag.store === store) &&
  (tag.from === null || tag.from <= day) &&
  (tag.to === null || day <= tag.to);

const stores = ['A', 'B', 'a', '\u{FFFD}', '\u{1F600}'];
const dayNames = ['2001-01-30', '2001-01-31', '2001-02-01', '2001-02-02', '2001-12-31'];
const event = fc.record({
  store: fc.constantFrom(...stores),
  event_id: fc.constantFrom('e1', 'e2', 'E1', 'é'),
  day: fc.constantFrom(...dayNames),
  micros: fc.constantFrom('00:00:00.000000', '00:00:00.000001', '23:59:59.999999'),
  kind: fc.constantFrom('k', 'l'),
});
const events = fc.uniqueArray(event, {
  selector: ({ store, event_id, day, micros }) => [store, day, micros, event_id].join('/'),
  minLength: 15,
  maxLength: 40,
});
const tagSets = arbitraryTags({ stores: [...stores, 'never'], days: dayNames }, 6);
const asked = fc.record(
  {
    dataset: fc.constantFrom(...datasetNames),
    store: fc.constantFrom(...stores),
    month: fc.constantFrom('2001-01', '2001-02'),
    kind: fc.constantFrom('k', 'l'),
    order: fc.constantFrom('asc' as const, 'desc' as const),
  },
  { requiredKeys: ['dataset', 'order'] },
);

function expected(
  list: readonly Event[],
  tags: readonly TestTag[],
  request: PageRequest,
): string[] {
  const { store, month, kind, dataset, order } = request;
  const keys = list
    .filter((one) => tags.some((each) => each.dataset === dataset && isIn(one, each)))
    .filter((one) => store === undefined || one.store === store)
    .filter((one) => month === undefined || one.day.startsWith(month))
    .filter((one) => kind === undefined || one.kind === kind)
    .map((one) => `${one.store} ${one.day}T${one.micros}Z ${one.event_id}`)
    .sort(compareText);
  return order === 'desc' ? keys.reverse() : keys;
}

/** The keys that a walk shows from the first page to the last, and those it shows on the way back. */
async function walked(request: PageRequest): Promise<{ on: string[]; back: string[] }> {
  const pages = (await walk(records, request)).map((text) => {
    const { data, next_cursor } = JSON.parse(text);
    return {
      keys: data.map(
        (row: Record<string, string>) => `${row.store} ${row.occurred_at} ${row.event_id}`,
      ),
      isLast: next_cursor === null,
    };
  });
  const last = pages.findIndex(({ isLast }) => isLast);
  const on = pages.slice(0, last + 1).flatMap(({ keys }) => keys);
  const back = pages
    .slice(last + 1)
    .reverse()
    .flatMap(({ keys }) => keys);
  return { on, back: last === 0 ? on : [...back, ...(pages[last]?.keys ?? [])] };
}

test('pages of a dataset show what lies in its tags, whatever lies where', async () => {
  let run = 0;
  const filters = [
    'length(event_id) = 1',
    "event_id = 'e1'",
    `store in ('A', '\u{1F600}')`,
    undefined,
  ];
  await fc.assert(
    fc.asyncProperty(
      events,
      fc.array(tagSets, { minLength: 4, maxLength: 4 }),
      fc.array(asked, { minLength: 3, maxLength: 3 }),
      fc.integer({ min: 2, max: 9 }),
      async (list, tagged, requests, limit) => {
        run += 1;
        const tenant = `tenant ${run}`;
        const sent = list.map(({ day, micros, ...rest }) => ({
          tenant,
          ...rest,
          occurred_at: `${day}T${micros}Z`,
          enrichment: {},
        }));
        await ingest(db, cold, [sent]);
        for (const [n, filter] of filters.entries()) {
          const tags = tagged[n] ?? [];
          await putTags(db, { [tenant]: tags });
          for (const more of requests) {
            const request = { tenant, limit, ...more };
            const keys = expected(list, tags, request);
            expect(await walked(request)).toEqual({ on: keys, back: keys });
          }
          await freeze(db, cold, { tenant, id: `seg_${run}_${n}`, ...(filter && { filter }) });
        }
      },
    ),
    { numRuns: runs(8) },
  );
});

test.each([undefined, "store = 'A'", 'true'])(
  'a walk back shows all windows of stores (cold: %s)',
  async (filter) => {
    const tenant = `back ${filter ?? 'none'}`;
    const sent = ['A', 'B'].flatMap((store) =>
      numberedRecords(tenant, 20, (n) => ({
        store,
        occurred_at: `2001-02-0${1 + (n % 9)}T12:00:00Z`,
      })),
    );
    await ingest(db, cold, [sent]);
    const windows = ['A', 'B'].map((store) => ({
      store,
      from: null,
      to: null,
      dataset: 'training' as const,
    }));
    await putTags(db, { [tenant]: windows });
    if (filter !== undefined) await freeze(db, cold, { tenant, id: 'seg_back', filter });
    const { on, back } = await walked({ tenant, dataset: 'training', limit: 2 });
    expect(on).toHaveLength(40);
    expect(back).toEqual(on);
  },
);

test('a page is full however few of the days are tagged, and its end is told', async () => {
  const days = Array.from({ length: 700 }, (_, n) =>
    new Date(Date.UTC(2001, 0, 1 + n)).toISOString().slice(0, 10),
  );
  const sent = ['A', 'B', 'C'].flatMap((store) =>
    numberedRecords('sparse', days.length, (n) => ({
      store,
      occurred_at: `${days[n]}T12:00:00Z`,
      kind: n % 100 === 0 ? 'rare' : 'usual',
    })),
  );
  await ingest(db, cold, [sent]);
  // As autovacuum does after so many new rows: statements go on by plans that were made for few days.
  await db.query(sql`analyze leaf_days, tenant_days, enrichment_records`);
  const odd = days.filter((_, n) => n % 2 === 1);
  const windows: TestTag[] = odd.map((day) => ({
    store: null,
    from: day,
    to: day,
    dataset: 'training',
  }));
  await putTags(db, {
    sparse: [...windows, { store: null, from: null, to: null, dataset: 'fine_tuning' }],
  });
  const check = async () => {
    const request = { tenant: 'sparse', dataset: 'training', limit: 500 } as const;
    const sizes = (await pagesOf(records, request)).map(({ data }) => data.length);
    expect(sizes).toEqual([500, 500, 50]);
    // More days than are looked up for one page: it is short, but the walk goes on.
    const rare = await walked({ ...request, dataset: 'fine_tuning', kind: 'rare' });
    expect(rare.on).toHaveLength(21);
    expect(rare.back).toEqual(rare.on);
    expect((await page(records, { ...request, kind: 'rare' })).data).toEqual([]);
  };
  await check();
  await freeze(db, cold, { tenant: 'sparse', id: 'seg_sparse_1', lastDay: '2001-12-31' });
  await check();
  await freeze(db, cold, { tenant: 'sparse', id: 'seg_sparse_2' });
  await check();
});

test('a walk goes on when tags change between two of its pages', async () => {
  const sent = numberedRecords('changing', 30, (n) => ({
    occurred_at: `2001-01-${String(n + 1).padStart(2, '0')}T00:00:00Z`,
  }));
  await ingest(db, cold, [sent]);
  const training = { store: null, dataset: 'training' as const };
  await putTags(db, { changing: [{ ...training, from: null, to: null }] });
  const request = { tenant: 'changing', dataset: 'training', limit: 10 } as const;
  const first = await page(records, request);
  await putTags(db, { changing: [{ ...training, from: '2001-01-01', to: '2001-01-25' }] });
  const second = await page(records, { ...request, cursor: first.next ?? '' });
  const third = await page(records, { ...request, cursor: second.next ?? '' });
  expect([first, second, third].map(({ data }) => data.length)).toEqual([10, 10, 5]);
  await putTags(db, {});
  const none = await page(records, { ...request, cursor: second.next ?? '' });
  expect(none).toMatchObject({ data: [], next: null });
});
