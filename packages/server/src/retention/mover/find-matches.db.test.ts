import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { formatDigest, recordDigest, sumDigests } from '../../kernel/digest.ts';
import { parseInstant } from '../../kernel/instant.ts';
import { useFreezer } from '../../records/ingest/testing/freeze.ts';
import { ingest } from '../../records/read/testing/walk.ts';
import { type DayTriple, sumTriples } from '../../records/segments.ts';
import { findMatches } from './find-matches.ts';
import type { EraseScope } from './scope.ts';

const db = useTestDatabase();
const freezer = useFreezer(db);
beforeAll(async () => {
  await store(0, 40);
  await freezer.freeze('T');
  await store(40, 60);
  await freezer.freeze('T');
  await store(60, 80);
  await ingest(db, freezer, [[JSON.stringify({ ...record(3), tenant: 'other' })]]);
});

/** Event ids come twice each, days three times, in two stores. */
function record(n: number) {
  return {
    tenant: 'T',
    store: ["S'1", 'é=S2'][n % 2] ?? '',
    event_id: `e"${n % 20}'`,
    occurred_at: `2025-02-${String(26 + (n % 3)).padStart(2, '0')}T12:00:00.${String(n).padStart(6, '0')}Z`,
    kind: n % 5 === 0 ? '' : 'k',
    enrichment: { n },
  };
}

const store = (from: number, until: number) =>
  ingest(db, freezer, [
    Array.from({ length: until - from }, (_, n) => JSON.stringify(record(from + n))),
  ]);

const everything: EraseScope = {
  tenant: 'T',
  store: null,
  eventIds: null,
  subject: null,
  from: null,
  to: null,
};

/** Count and digest of the records 0 … 79 that a scope means. */
function expected({ store, eventIds, from, to }: EraseScope, first = 0, last = 79) {
  const meant = Array.from({ length: 80 }, (_, n) => ({ n, ...record(n) })).filter(
    (one) =>
      one.n >= first &&
      one.n <= last &&
      (store === null || one.store === store) &&
      (eventIds === null || eventIds.includes(one.event_id)) &&
      (from === null || one.occurred_at.slice(0, 10) >= from) &&
      (to === null || one.occurred_at.slice(0, 10) <= to),
  );
  const digests = meant.map((one) =>
    recordDigest({
      ...one,
      eventId: one.event_id,
      occurredAtMicros: parseInstant(one.occurred_at) ?? -1,
      source: null,
      model: null,
      confidence: null,
      enrichment: JSON.stringify(one.enrichment),
    }),
  );
  return { count: meant.length, digest: formatDigest(sumDigests(digests)) };
}

function tripleOf(days: readonly DayTriple[]) {
  const { count, digest } = sumTriples(days);
  return { count, digest: formatDigest(BigInt(digest)) };
}

test('of events only those segments are opened that may hold one of them, and those of which nothing is known', async () => {
  const ids = ['only first', 'only second'];
  for (const [n, id] of ids.entries()) {
    await ingest(db, freezer, [[JSON.stringify({ ...record(n), tenant: 'F', event_id: id })]]);
    await freezer.freeze('F');
  }
  const opened: string[] = [];
  const { objects, ...tools } = freezer;
  const watched: typeof objects = {
    ...objects,
    open(ref, options) {
      opened.push(ref.key);
      return objects.open(ref, options);
    },
  };
  const find = async (eventIds: string[]) => {
    opened.length = 0;
    const scope = { ...everything, tenant: 'F', eventIds };
    const signal = new AbortController().signal;
    const { foundIds } = await findMatches({ ...tools, db, objects: watched }, scope, signal);
    return [opened.length, ...foundIds];
  };
  const many = Array.from({ length: 40 }, (_, n) => `none ${n}`);
  expect(await find(['only first'])).toEqual([1, 'only first']);
  expect(await find(['only second', 'none'])).toEqual([1, 'only second']);
  expect(await find(['none'])).toEqual([0]);
  expect(await find(ids)).toEqual([2, ...ids]);
  expect(await find([...many, ...ids])).toEqual([2, ...ids]);
  await db.query(sql`update segments set event_filter = null where tenant = 'F'`);
  expect(await find(['only first'])).toEqual([2, 'only first']);
});

test.each([
  ['days', { from: '2025-02-27', to: '2025-02-28' }],
  ['a store', { store: "S'1" }],
  ['a store of an uncommon name on a day', { store: 'é=S2', from: '2025-02-26', to: '2025-02-26' }],
  ['event ids', { eventIds: ['e"3\'', 'e"4\'', 'none', "'"] }],
  [
    'event ids of a store on days',
    { store: "S'1", eventIds: ['e"4\'', 'e"5\''], from: '2025-02-26', to: '2025-02-27' },
  ],
  ['a store that does not exist', { store: 'none' }],
])('finds the records by %s where they lie, with their content', async (_name, more) => {
  const scope = { ...everything, ...more };
  const { hot, cold, foundIds } = await findMatches(
    { ...freezer, db },
    scope,
    new AbortController().signal,
  );
  expect(tripleOf(hot)).toEqual(expected(scope, 60));
  expect(tripleOf(cold.flatMap(({ days }) => days))).toEqual(expected(scope, 0, 59));
  const wanted = scope.eventIds?.filter((id) => expected({ ...scope, eventIds: [id] }).count > 0);
  expect([...foundIds].sort()).toEqual((wanted ?? []).sort());
});

test('an erasure of more days of stores than memory is good for is refused, and what to do is told', async () => {
  // Counters alone: nothing lies on these days.
  await db.query(sql`
    insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at, cold_count)
    select 'wide', 'store-' || store, date '2001-03-01' + day, 1, 1, 1, now(), now(), 1
    from generate_series(1, 25001) store cross join generate_series(0, 9) day`);
  const find = (more: Partial<EraseScope>) =>
    findMatches(
      { ...freezer, db },
      { ...everything, tenant: 'wide', ...more },
      new AbortController().signal,
    );
  await expect(find({ from: '2001-03-01', to: '2001-03-10' })).rejects.toMatchObject({
    code: 'request_invalid',
    detail: expect.stringContaining('250,010 days of stores'),
  });
  const none = { hot: [], cold: [], foundIds: new Set() };
  expect(await find({ from: '2001-03-01', to: '2001-03-09' })).toEqual(none);
  expect(await find({ store: 'store-7' })).toEqual(none);
});
