import fc from 'fast-check';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { compareText } from '../../kernel/names.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import type { PageRequest } from './pages.ts';
import { useColdStore } from './testing/cold-store.ts';
import { freeze } from './testing/freeze.ts';
import { bothTiers, ingest, page, pagesOf, type TestTier } from './testing/walk.ts';
import { usualLimits } from './tier.ts';

const db = useTestDatabase();
const cold = useColdStore();
const records = bothTiers(db, cold);
/** Each page looks at few records. */
const narrow = bothTiers(db, cold, { ...usualLimits, filtered: 3, bytes: 100, days: 4 });

type Key = { store: string; occurred_at: string; event_id: string };
const nameOf = ({ store, occurred_at, event_id }: Key) => `${occurred_at} ${store} ${event_id}`;
const byTime = (a: Key, b: Key) =>
  compareText(a.occurred_at, b.occurred_at) ||
  compareText(a.store, b.store) ||
  compareText(a.event_id, b.event_id);

/** The records of all pages in one direction, in the order of the list. */
async function walk(tiers: TestTier, request: PageRequest, way: 'next' | 'prev' = 'next') {
  const pages = (await pagesOf(tiers, request, { way })).map(({ data }) => data.map(nameOf));
  return way === 'next' ? pages.flat() : pages.toReversed().flat();
}

const times = ['00:00:00.000000', '00:00:00.000001', '08:15:00.000000', '23:59:59.999999'];
const event = fc.record({
  store: fc.constantFrom('A', 'a', '\u{FFFD}', '\u{1F600}'),
  event_id: fc.constantFrom('a', 'B', '\u{FFFD}', '\u{1F600}'),
  day: fc.constantFrom('2001-01-31', '2001-02-01', '2001-02-02', '2003-05-01'),
  time: fc.constantFrom(...times),
  kind: fc.constantFrom('x', 'y'),
});
const events = fc.uniqueArray(event, {
  selector: ({ store, event_id, day, time }) => [store, day, time, event_id].join('/'),
  minLength: 1,
  maxLength: 40,
});
const moves = fc.array(
  fc.record({
    lastDay: fc.constantFrom('2001-01-31', '2001-02-01', '2003-05-01'),
    part: fc.integer({ min: 0, max: 3 }),
  }),
  { maxLength: 3 },
);

test('all pages by time, both ways and from any time, are the records of a model in its order', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      events,
      moves,
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom(...times),
      fc.boolean(),
      async (list, layout, limit, time, isNarrow) => {
        run += 1;
        const tenant = `random ${run}`;
        const sent = list.map(({ day, time: at, ...rest }) => ({
          tenant,
          ...rest,
          occurred_at: `${day}T${at}Z`,
          enrichment: { kind: rest.kind },
        }));
        await ingest(db, cold, [sent]);
        await db.query(sql`
          insert into tags (tenant, id, store, first_day, last_day, dataset, created_by) values
            (${tenant}, '1', 'a', '2001-02-01', null, 'training', 'test'),
            (${tenant}, '2', ${'\u{1F600}'}, null, '2001-01-31', 'training', 'test'),
            (${tenant}, '3', null, '2001-02-02', '2001-02-02', 'training', 'test')`);
        for (const [n, { lastDay, part }] of layout.entries()) {
          const filter = part === 3 ? {} : { filter: `hash(event_id) % 3 = ${part}` };
          await freeze(db, cold, { tenant, lastDay, id: `seg_${run}_${n}`, ...filter });
        }
        const isTagged = ({ store, occurred_at: at }: Key) =>
          (store === 'a' && at >= '2001-02-01') ||
          (store === '\u{1F600}' && at < '2001-02-01') ||
          at.startsWith('2001-02-02');
        const tiers = isNarrow ? narrow : records;
        const start = `2001-02-01T${time}Z`;
        for (const [filter, isWanted] of [
          [{}, () => true],
          [{ month: '2001-02' }, ({ occurred_at }) => occurred_at.startsWith('2001-02')],
          [{ kind: 'x' }, ({ kind }) => kind === 'x'],
          [{ where: 'kind = "x"' }, ({ kind }) => kind === 'x'],
          [{ dataset: 'training' }, isTagged],
          [{ dataset: 'training', kind: 'y' }, (one) => isTagged(one) && one.kind === 'y'],
        ] as [Partial<PageRequest>, (one: (typeof sent)[number]) => boolean][]) {
          const model = sent.filter(isWanted).sort(byTime);
          for (const order of ['oldest', 'newest'] as const) {
            const all = order === 'oldest' ? model : model.toReversed();
            const isBefore = ({ occurred_at: at }: Key) =>
              order === 'oldest' ? at < start : at > start;
            const [names, before] = [all.map(nameOf), all.filter(isBefore).map(nameOf)];
            const request = { tenant, limit, order, ...filter };
            expect(await walk(tiers, request)).toEqual(names);
            expect(await walk(tiers, { ...request, start: 'last' }, 'prev')).toEqual(names);
            expect(await walk(tiers, { ...request, start })).toEqual(names.slice(before.length));
            const first = await page(tiers, { ...request, start });
            const back = await walk(tiers, { ...request, start }, 'prev');
            expect(back).toEqual([...before, ...first.data.map(nameOf)]);
          }
        }
      },
    ),
    { numRuns: runs(2) },
  );
});

test('a page is full where most of its records are in one moment of the day', async () => {
  const crowd = numberedRecords('crowd', 600, (n) => ({
    store: `s${n % 50}`,
    occurred_at:
      n < 300 ? '2001-01-05T08:00:00Z' : `2001-01-0${1 + (n % 5)}T${10 + (n % 9)}:00:00Z`,
  }));
  await ingest(db, cold, [crowd]);
  for (const order of ['newest', 'oldest'] as const) {
    const { data } = await page(records, { tenant: 'crowd', order, limit: 500 });
    expect(data).toHaveLength(500);
    expect(new Set(await walk(records, { tenant: 'crowd', order, limit: 60 })).size).toBe(600);
  }
});

test('a day that lies in more segments than are open at once is read whole, and others in part', async () => {
  const tenant = 'many';
  const lines = numberedRecords(tenant, 40, (n) => ({
    store: `s${n % 4}`,
    occurred_at: `2001-01-${n < 20 ? '01' : String(n - 8).padStart(2, '0')}T00:00:00Z`,
  }));
  await ingest(db, cold, [lines]);
  for (const n of lines.keys()) {
    await freeze(db, cold, { tenant, id: `seg_${n}`, filter: `event_id = 'e${n}'` });
  }
  const expected = lines
    .map((line) => ({ ...line, occurred_at: line.occurred_at.replace('Z', '.000000Z') }))
    .sort(byTime)
    .map(nameOf);
  expect(await walk(records, { tenant, order: 'oldest', limit: 7 })).toEqual(expected);
  expect(await walk(records, { tenant, order: 'newest', limit: 500 })).toEqual(
    expected.toReversed(),
  );
});

test('how far a page with a filter has looked is told as a time', async () => {
  const tenant = 'searched';
  await ingest(db, cold, [
    numberedRecords(tenant, 9, (n) => ({ occurred_at: `2001-01-01T0${n}:00:00Z`, kind: 'x' })),
  ]);
  const { text } = await page(narrow, { tenant, order: 'newest', kind: 'y' });
  const { data, searched_to } = JSON.parse(text);
  expect(data).toEqual([]);
  expect(searched_to).toMatchObject({ tenant, store: null });
  expect(searched_to.occurred_at > '2001-01-01T03').toBe(true);
});

test.each([
  [{ order: 'newest' }, '?order'],
  [{ order: 'oldest', store: 'A' }, '?start', { start: '2001-01-01T00:00:00Z' }],
  [{ tenant: 'T', order: 'newest', event_id: 'e' }, '?event_id'],
  [{ tenant: 'T', order: 'newest', start: 'yesterday' }, '?start'],
] as [PageRequest, string, object?][])(
  '%o is refused by name',
  async (request, path, more = {}) => {
    await expect(page(records, { ...request, ...more })).rejects.toMatchObject({
      code: 'request_invalid',
      errors: [{ path }],
    });
  },
);

test('by time, a store is as it is by key, also with the id of an event', async () => {
  const tenant = 'one store';
  await ingest(db, cold, [numberedRecords(tenant, 9, (n) => ({ event_id: `e${9 - n}` }))]);
  const ids = async (request: PageRequest) =>
    (await page(records, { tenant, store: 'S', ...request })).data.map(nameOf);
  expect(await ids({ order: 'newest' })).toEqual(await ids({ order: 'desc' }));
  expect(await ids({ order: 'oldest', event_id: 'e3' })).toHaveLength(1);
});
