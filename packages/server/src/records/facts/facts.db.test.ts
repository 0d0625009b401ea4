import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { ingest } from '../read/testing/walk.ts';
import type { SliceRequest } from '../slice/slice.ts';
import { readFacts } from './read-facts.ts';
import { readSample } from './read-sample.ts';

const db = useTestDatabase();
const cold = useColdStore();
beforeAll(async () => {
  await ingest(db, cold, [few(), many(), uneven()]);
  await db.query(sql`
    insert into tags (tenant, id, store, first_day, last_day, dataset, created_by) values
      ('few', '1', 'A', '2001-01-02', '2001-01-03', 'training', 'test'),
      ('many', '2', null, '2001-01-01', '2001-01-10', 'training', 'test'),
      ('many', '3', 'S3', '2001-01-01', '2001-01-31', 'fine_tuning', 'test')`);
});

/** 60 records of two stores and five days, with labels as awkward as they may be. */
function few() {
  return numberedRecords('few', 60, (n) => ({
    store: n % 2 === 0 ? 'A' : 'B',
    occurred_at: `2001-01-0${1 + (n % 5)}T00:00:00Z`,
    kind: n % 4 === 0 ? null : n % 4 === 1 ? '\u{FEFF}marked' : '',
    source: `source ${String(n % 30).padStart(2, '0')}`,
    model: 'it\'s "one"',
  }));
}

/** 10,540 records: of each store and day the same share of kinds, and one model in each half of the month. */
function many() {
  return numberedRecords('many', 10_540, (n) => {
    const day = 1 + (Math.floor(n / 4) % 31);
    return {
      store: `S${n % 4}`,
      occurred_at: `2001-01-${String(day).padStart(2, '0')}T00:00:00.${String(n).padStart(6, '0')}Z`,
      kind: Math.floor(n / 124) % 4 === 0 ? 'quarter' : 'rest',
      model: day <= 15 ? 'early' : 'late',
    };
  });
}

const busyDays = 4;

/**
 * 3,840 records, half of them of one large store, the others of 40 small ones. Each day a quarter is of the night, spread
 * over six hours; all others come within ten minutes at noon.
 */
function uneven() {
  return numberedRecords('uneven', 3_840, (n) => {
    const place = Math.floor(n / busyDays);
    const isNight = Math.floor(place / 80) % 4 === 0;
    const seconds = isNight ? (place * 7919) % 21_600 : 43_200 + ((place * 7919) % 600);
    const at = Date.UTC(2001, 0, 1 + (n % busyDays)) + 1000 * seconds;
    return {
      store: place % 2 === 0 ? 'large' : `small ${Math.floor(place / 2) % 40}`,
      occurred_at: new Date(at).toISOString(),
      kind: isNight ? 'night' : 'noon',
      model: place % 2 === 0 ? 'of the large' : 'of the small',
      source: `day ${n % busyDays}`,
    };
  });
}

const facts = (request: SliceRequest & { tenant: string }) =>
  readFacts({ db, cold }, testActor, request);

test('a tenant without records has nothing', async () => {
  const looked = { count: 0, sampled: 0, is_exact: true, fitting: null };
  const nothing = { ...looked, kinds: [], sources: [], models: [] };
  expect(await facts({ tenant: 'nobody' })).toEqual(nothing);
});

/** Answers of slices that are looked at whole; the same wherever the records lie. */
async function exactAnswers() {
  const answers = [];
  for (const request of [
    {},
    { store: 'A' },
    { from: '2001-01-02', to: '2001-01-03' },
    { dataset: 'training' },
    { dataset: 'training', from: '2001-01-03', to: '2001-01-09' },
    { dataset: 'fine_tuning' },
    { where: 'kind = ""' },
    { where: 'n < 15', dataset: 'training' },
    { where: 'n = "none"' },
  ] as const) {
    answers.push(await facts({ tenant: 'few', ...request }));
  }
  return answers;
}

test('of few records all are looked at, in both tiers alike', async () => {
  const hot = await exactAnswers();
  expect(hot[0]).toMatchObject({
    count: 60,
    sampled: 60,
    is_exact: true,
    kinds: [
      { value: '', count: 30 },
      { value: '\u{FEFF}marked', count: 15 },
      { value: null, count: 15 },
    ],
    models: [{ value: 'it\'s "one"', count: 60 }],
  });
  expect(hot[0]?.sources).toHaveLength(20);
  expect(hot[0]?.sources[0]).toEqual({ value: 'source 00', count: 2 });
  expect(hot.map(({ count, is_exact }) => [count, is_exact])).toEqual([
    [60, true],
    [30, true],
    [24, true],
    [12, true],
    [6, true],
    [0, true],
    [60, true],
    [12, true],
    [60, true],
  ]);
  const fitting = (share: number) => ({ share, low: share, high: share });
  expect(hot[6]).toMatchObject({
    sampled: 30,
    fitting: fitting(0.5),
    kinds: [{ value: '', count: 30 }],
  });
  // Of the first 15 records those of A in two days, which are 3 of 12.
  expect(hot[7]).toMatchObject({ sampled: 3, fitting: fitting(0.25) });
  expect(hot[8]).toMatchObject({ sampled: 0, fitting: fitting(0), kinds: [] });
  expect(hot[0]?.fitting).toBeNull();
  await freeze(db, cold, { tenant: 'few', id: 'seg_1', filter: 'length(event_id) = 3' });
  expect(await exactAnswers()).toEqual(hot);
  await freeze(db, cold, { tenant: 'few', id: 'seg_2', lastDay: '2001-01-02' });
  expect(await exactAnswers()).toEqual(hot);
  await freeze(db, cold, { tenant: 'few', id: 'seg_3' });
  expect(await exactAnswers()).toEqual(hot);
});

const share = (list: readonly { value: string | null; count: number }[], value: string) =>
  (list.find((one) => one.value === value)?.count ?? 0) /
  list.reduce((sum, { count }) => sum + count, 0);

/** Of many records 10,000 at most, which stand for all of them. */
async function checkSamples(): Promise<void> {
  const all = await facts({ tenant: 'many' });
  expect(all).toMatchObject({ count: 10_540, is_exact: false });
  expect(all.sampled).toBeGreaterThan(5_000);
  expect(all.sampled).toBeLessThanOrEqual(10_100);
  expect(share(all.kinds, 'quarter')).toBeCloseTo(0.25, 0);
  expect(share(all.models, 'early')).toBeGreaterThan(0.3);
  expect(share(all.models, 'early')).toBeLessThan(0.7);
  const tagged = await facts({ tenant: 'many', dataset: 'training' });
  expect(tagged).toMatchObject({ count: 3_400, sampled: 3_400, is_exact: true });
  expect(tagged.models).toEqual([{ value: 'early', count: 3_400 }]);
  const store = await facts({ tenant: 'many', dataset: 'fine_tuning' });
  expect(store).toMatchObject({ count: 2_635, is_exact: true });
}

test('of many records a sample stands for all of them, in both tiers', async () => {
  await checkSamples();
  // Where a sample is taken from several segments, the next test has it smaller.
  await freeze(db, cold, { tenant: 'many', id: 'seg_m', filter: 'hash(event_id) % 2 = 0' });
  await checkSamples();
});

/** With 20 keys for each record whole days are read; with 2, pieces of their times. */
async function checkShares(): Promise<void> {
  for (const keysEach of [20, 2]) {
    const size = { records: 400, places: 8, mostPlaces: 16, keysEach };
    const all = await readFacts({ db, cold }, testActor, { tenant: 'uneven' }, size);
    expect(all).toMatchObject({ count: 3_840, is_exact: false });
    expect(Math.abs(all.sampled - 400)).toBeLessThan(60);
    expect(Math.abs(share(all.kinds, 'night') - 0.25)).toBeLessThan(0.08);
    expect(Math.abs(share(all.models, 'of the large') - 0.5)).toBeLessThan(0.05);
    expect(all.sources).toHaveLength(busyDays);
    expect(await readFacts({ db, cold }, testActor, { tenant: 'uneven' }, size)).toEqual(all);
    const store = { tenant: 'uneven', store: 'large', from: '2001-01-02', to: '2001-01-02' };
    const day = await readFacts({ db, cold }, testActor, store, { ...size, records: 200 });
    expect(day.count).toBe(480);
    expect(Math.abs(share(day.kinds, 'night') - 0.25)).toBeLessThan(0.08);
  }
}

test('a sample has the hours and the stores by their numbers of records, in both tiers', async () => {
  await checkShares();
  await freeze(db, cold, { tenant: 'uneven', id: 'seg_u1', filter: 'hash(event_id) % 2 = 0' });
  await checkShares();
  await freeze(db, cold, { tenant: 'uneven', id: 'seg_u2', lastDay: '2001-01-02' });
  await checkShares();
  await freeze(db, cold, { tenant: 'uneven', id: 'seg_u3' });
  await checkShares();
});

test('of many stores as many are looked at as there are places', async () => {
  const size = { records: 400, places: 4, mostPlaces: 40, keysEach: 20 };
  const sample = await readSample(
    { db, cold },
    testActor,
    { tenant: 'uneven' },
    { size, textBytes: 0 },
  );
  const stores = new Set(sample.records.map(({ store }) => store));
  // Half of the places lie in the large one.
  expect(stores.size).toBeGreaterThanOrEqual(20);
});
