import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import type { Field, Fields } from '../fields.contract.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { ingest } from '../read/testing/walk.ts';
import { createFieldsReader, type FieldsRequest } from './read-fields.ts';

const db = useTestDatabase();
const cold = useColdStore();
beforeAll(async () => {
  await ingest(db, cold, [few(), many(), large()]);
  await db.query(sql`
    insert into tags (tenant, id, store, first_day, last_day, dataset, created_by) values
      ('few', '1', null, '2001-01-01', '2001-01-02', 'training', 'test'),
      ('many', '2', null, '2001-01-01', '2001-01-20', 'training', 'test')`);
});

/** Eight records of four days and two months. */
function few() {
  return numberedRecords('few', 8, (n) => ({
    store: n < 4 ? 'A' : 'B',
    occurred_at: `2001-0${1 + Math.floor(n / 6)}-0${1 + (n % 4)}T00:00:00Z`,
    kind: n === 0 ? null : 'departure',
    confidence: n / 10,
    enrichment: {
      delay: n < 6 ? n * 10 : null,
      ...(n < 4 && { origin: { iata: n === 3 ? '\u{FEFF}IAH' : 'DFW' } }),
      late: n % 2 === 0,
      tags: n === 7 ? [] : ['a', n === 0 ? 'b' : 'a', n],
    },
  }));
}

/**
 * 12,400 records of 124 days and four stores. In each record the score grows with the months; one label is as frequent
 * on all days, and one is on whole days only.
 */
function many() {
  return numberedRecords('many', 12_400, (n) => {
    const day = Math.floor(n / 100);
    const at = Date.UTC(2001, 0, 1 + day) + (n % 100) * 864_000;
    return {
      store: `S${n % 4}`,
      occurred_at: new Date(at).toISOString(),
      enrichment: {
        score: day + ((n * 7919) % 100) / 100,
        quarter: Math.floor(n / 4) % 4 === 0,
        byDay: ((day * 7919) % 31) % 5 < 2 ? 'some days' : 'other days',
      },
    };
  });
}

/** Records of which most have little text, and those of some days much. */
function large() {
  return numberedRecords('large', 400, (n) => ({
    occurred_at: `2001-01-${String(1 + Math.floor(n / 20)).padStart(2, '0')}T00:00:00.${String(n).padStart(3, '0')}Z`,
    enrichment: { text: 'x'.repeat(n < 20 ? 200_000 : 100) },
  }));
}

const size = { records: 1000, places: 25, mostPlaces: 50, keysEach: 20 };
const textBytes = 2 ** 24;
const usual = createFieldsReader;
const read = (request: FieldsRequest, options?: Parameters<typeof usual>[1]) =>
  usual({ db, cold }, options)(testActor, request, new AbortController().signal);
const small = (request: FieldsRequest) => read(request, { size, textBytes });

function field({ fields }: Fields, name: string): Field {
  const found = fields.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no field ${name}`);
  return found;
}

const exactly = (share: number) => ({ share, low: share, high: share });

test('a slice without records has no fields', async () => {
  expect(await read({ tenant: 'nobody', against: 'all' })).toEqual({
    count: 0,
    sampled: 0,
    is_exact: true,
    unread: 0,
    fitting: null,
    periods: [],
    fields: [],
    left_off: 0,
    against: { count: 0, sampled: 0, is_exact: true, unread: 0, fitting: null },
  });
});

test('for a caller who has gone nothing more is read', async () => {
  const gone = new AbortController();
  let reads = 0;
  const transaction: typeof db.transaction = (...asked) => {
    reads += 1;
    gone.abort();
    return db.transaction(...asked);
  };
  const reader = usual({ db: { ...db, transaction }, cold });
  const request = { tenant: 'few', against: 'training' };
  await expect(reader(testActor, request, gone.signal)).rejects.toThrow('aborted');
  await expect(reader(testActor, request, gone.signal)).rejects.toThrow('aborted');
  expect(reads).toBe(1);
});

test('a confidence of any size counts, in both tiers alike', async () => {
  const spelled = ['1e-400', '0.5', '1'];
  const records = numberedRecords('tiny', 3).map((one, n) =>
    JSON.stringify(one).replace('"enrichment"', `"confidence":${spelled[n]},"enrichment"`),
  );
  await ingest(db, cold, [records]);
  const hot = await read({ tenant: 'tiny' });
  expect(field(hot, 'confidence').numbers).toMatchObject({ min: 0, max: 1 });
  await freeze(db, cold, { tenant: 'tiny', id: 'tiny' });
  expect(await read({ tenant: 'tiny' })).toEqual(hot);
});

test('of few records the fields are told exactly, in both tiers alike', async () => {
  const hot = await read({ tenant: 'few' });
  expect(hot).toMatchObject({ count: 8, sampled: 8, is_exact: true, unread: 0, left_off: 0 });
  expect(hot.periods).toEqual([
    { period: '2001-01', sampled: 6 },
    { period: '2001-02', sampled: 2 },
  ]);
  expect(hot.fields.map(({ name }) => name)).toEqual([
    ...['kind', 'confidence', 'delay', 'origin.iata', 'late', 'tags[]'],
  ]);
  expect(field(hot, 'kind')).toMatchObject({ of: 'record', missing: exactly(0.125) });
  const delay = field(hot, 'delay');
  expect(delay).toMatchObject({
    of: 'enrichment',
    present: exactly(0.75),
    nulls: exactly(0.25),
    missing: exactly(0),
    types: [{ type: 'number', ...exactly(0.75) }],
    numbers: { count: 6, beyond: 0, min: 0, max: 50 },
    over_time: [
      { present: 6, p25: 12.5, p50: 25, p75: 37.5 },
      { present: 0, p50: null },
    ],
  });
  expect(delay.numbers?.quantiles[2]).toEqual({ percent: 50, value: 25, low: 25, high: 25 });
  expect(delay.numbers?.buckets.reduce((sum, { count }) => sum + count, 0)).toBe(6);
  expect(field(hot, 'origin.iata')).toMatchObject({
    missing: exactly(0.5),
    distinct: 2,
    values: [
      { value: 'DFW', count: 3, ...exactly(0.375) },
      { value: '\u{FEFF}IAH', count: 1 },
    ],
    over_time: [{ counts: [3, 1] }, { counts: [0, 0] }],
  });
  expect(field(hot, 'late').values).toMatchObject([{ value: false }, { value: true, count: 4 }]);
  // A record counts once for each value, however often its array has it.
  expect(field(hot, 'tags[]').values.slice(0, 2)).toMatchObject([
    { value: 'a', count: 7 },
    { value: 0, count: 1 },
  ]);
  const late = await read({ tenant: 'few', where: 'late = true' });
  expect(late).toMatchObject({ count: 8, sampled: 4, is_exact: true, fitting: exactly(0.5) });
  expect(field(late, 'delay')).toMatchObject({ present: exactly(0.75), numbers: { max: 40 } });
  const none = await read({ tenant: 'few', where: 'late = 1' });
  expect(none).toMatchObject({ sampled: 0, is_exact: true, fitting: exactly(0), fields: [] });
  for (const [id, lastDay] of [
    ['seg_1', '2001-01-02'],
    ['seg_2', '2100-01-01'],
  ] as const) {
    await freeze(db, cold, { tenant: 'few', id, lastDay });
    expect(await read({ tenant: 'few' })).toEqual(hot);
    expect(await read({ tenant: 'few', where: 'late = true' })).toEqual(late);
  }
});

test('against says how much each field differs, the largest drift first', async () => {
  const months = await read({ tenant: 'few', month: '2001-01', against: '2001-02' });
  expect(months.against).toEqual({
    count: 2,
    sampled: 2,
    is_exact: true,
    unread: 0,
    fitting: null,
  });
  const drifts = months.fields.map(({ drift }) => drift?.distance ?? -1);
  expect(drifts).toEqual(drifts.toSorted((a, b) => b - a));
  expect(field(months, 'delay')).toMatchObject({
    against: { numbers: null, nulls: exactly(1) },
    drift: { distance: 1, noise: 0 },
  });
  const same = await read({ tenant: 'few', month: '2001-01', against: '2001-01-01..2001-01-31' });
  expect(same.fields.every(({ drift }) => drift?.distance === 0)).toBe(true);
  const training = await read({ tenant: 'few', dataset: 'training', against: 'all' });
  expect([training.count, training.against?.count]).toEqual([4, 8]);
  const other = await read({ tenant: 'few', against: 'training' });
  expect([other.count, other.against?.count]).toEqual([8, 4]);
});

test('a day that does not exist is refused as it is for the slice itself', async () => {
  const wrong = { tenant: 'few', against: '2001-02-30..2001-03-01' };
  await expect(read(wrong)).rejects.toMatchObject({ code: 'request_invalid' });
  await expect(read({ tenant: 'few', where: 'late =' })).rejects.toMatchObject({
    code: 'request_invalid',
  });
  const reversed = { tenant: 'few', against: '2001-03-02..2001-03-01' };
  await expect(read(reversed)).rejects.toMatchObject({ code: 'request_invalid' });
});

const holds = ({ low, high }: { low: number; high: number }, truth: number) =>
  low <= truth && truth <= high;

async function checkSample(): Promise<void> {
  const all = await small({ tenant: 'many' });
  expect(all).toMatchObject({ count: 12_400, is_exact: false, unread: 0 });
  expect(Math.abs(all.sampled - 1000)).toBeLessThan(60);
  const quarter = field(all, 'quarter').values.find(({ value }) => value === true);
  const byDay = field(all, 'byDay').values.find(({ value }) => value === 'some days');
  if (quarter === undefined || byDay === undefined) throw new Error('a value was not found');
  expect(holds(quarter, 0.25)).toBe(true);
  expect(holds(byDay, 52 / 124)).toBe(true);
  // What is alike in whole days is known far less well than what is mixed within them.
  expect(byDay.high - byDay.low).toBeGreaterThan(2 * (quarter.high - quarter.low));
  for (const { percent, low, high } of field(all, 'score').numbers?.quantiles ?? []) {
    expect(holds({ low, high }, (percent / 100) * 124)).toBe(true);
    expect(low).toBeLessThan(high);
  }
  const medians = field(all, 'score').over_time.map(({ p50 }) => p50 ?? 0);
  expect(all.periods.map(({ period }) => period.slice(5))).toEqual(
    expect.arrayContaining(['01', '02', '03', '04']),
  );
  expect(medians).toEqual(medians.toSorted((a, b) => a - b));
  expect(await small({ tenant: 'many' })).toEqual(all);
  const early = await small({ tenant: 'many', where: 'score < 62' });
  expect(early).toMatchObject({ count: 12_400, is_exact: false });
  expect(Math.abs(early.sampled - 500)).toBeLessThan(60);
  expect(early.fitting !== null && holds(early.fitting, 0.5)).toBe(true);
  // Only some days were looked at, so the largest scores of those that fit may be a little larger than any of the sample.
  const quantiles = field(early, 'score').numbers?.quantiles ?? [];
  for (const { percent, low, high } of quantiles.filter((one) => one.percent < 95)) {
    expect(holds({ low, high }, (percent / 100) * 62)).toBe(true);
  }
  const drift = await small({ tenant: 'many', dataset: 'training', against: 'all' });
  const score = field(drift, 'score').drift;
  expect(drift.fields[0]?.name).toBe('score');
  expect(score?.distance).toBeGreaterThan(1.5 * (score?.noise ?? 1));
  const isReal = drift.fields.map((one) => (one.drift?.distance ?? 0) > (one.drift?.noise ?? 0));
  expect(isReal).toEqual(isReal.toSorted((a, b) => Number(b) - Number(a)));
  const steady = field(drift, 'quarter').drift;
  expect(steady?.distance).toBeLessThan(steady?.noise ?? 0);
}

test('a sample tells how far it may be off, and drift stands out of its noise, in both tiers', async () => {
  await checkSample();
  await freeze(db, cold, { tenant: 'many', id: 'seg_m', filter: 'hash(event_id) % 2 = 0' });
  await checkSample();
  await freeze(db, cold, { tenant: 'many', id: 'seg_n' });
  await checkSample();
});

test('of large records fewer are read, and what has no room is told', async () => {
  for (const isCold of [false, true]) {
    if (isCold) await freeze(db, cold, { tenant: 'large', id: 'seg_l' });
    const all = await read({ tenant: 'large' }, { size, textBytes: 2 ** 20 });
    expect(all.count).toBe(400);
    expect(all.sampled + all.unread).toBeLessThan(130);
    expect(all.sampled).toBeGreaterThan(80);
    const none = await read(
      { tenant: 'large', from: '2001-01-01', to: '2001-01-01' },
      { size, textBytes: 2 ** 19 },
    );
    expect(none).toMatchObject({ count: 20, is_exact: false });
    expect(none.unread).toBeGreaterThan(5);
    expect(none.sampled + none.unread).toBe(20);
  }
});
