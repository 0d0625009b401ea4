import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import type { RecordKey } from '../queries.ts';
import { digestSumSql } from '../segments/segment-sql.ts';
import type { PageRequest } from './pages.ts';
import { countSlice, measureSlice } from './sum-segments.ts';
import { useColdStore } from './testing/cold-store.ts';
import { compact, freeze } from './testing/freeze.ts';
import { bothTiers, ingest, page, type TestTier, walk } from './testing/walk.ts';
import { usualLimits } from './tier.ts';

// One set of records, moved step by step. Whatever lies where, every answer is the same text.

const db = useTestDatabase();
const cold = useColdStore();
const records = bothTiers(db, cold);

/** In byte order; in UTF-16 order the last two change places. */
const tenants = ['CA', 'Ünï', '\u{FFFD}', '\u{1F600}'];

const awkward = [
  {},
  { kind: '', source: '', model: '' },
  { kind: 'a "quoted" kind', source: "it's", model: 'a,b;c\\d' },
  { kind: 'line\nfeed', source: 'carriage\rreturn', model: 'both\r\n' },
  { kind: '\u{FEFF}marked', source: '\u{FEFF}', model: 'in\u{FEFF}side' },
  { kind: '\u{1F600}', source: 'e\u{301} is not \u{E9}', model: '\t' },
  { kind: 'null', source: '\\N', model: '#' },
  { kind: ' spaces ', source: '=1+1', model: '\u{7F}\u{85}\u{2028}' },
];
const numbers = ['1.0', '-0', '1e-3', '0.10', '1', '0', '0.12345678901234567890'];
const enrichments = [
  '{}',
  '{"n":12345678901234567890,"f":1.0,"e":1E+2,"z":-0}',
  '{"text":"\\u0041\\n\\"\\\\ \u{FEFF}\u{1F600}","deep":{"a":[1,null,true,{"b":""}]}}',
  '{"\u{FEFF}key":"\\ud83d\\ude00","k":"\r\\u007f"}'.replace('\r', '\\r'),
];
const ids = [
  ...['a', 'A', 'aa', 'B', 'é', '\u{FEFF}a', '\u{E000}', '\u{1F600}'],
  ...["it's", '"', '%', '\\'],
];
const times = ['00:00:00Z', '00:00:00.000001Z', '12:00:00.5Z', '23:59:59.999999Z'];
const days = ['2001-01-31', '2001-02-01', '2001-02-02', '2001-03-01'];

function recordText(n: number): string {
  const { kind, source, model } = awkward[n % awkward.length] ?? {};
  const labels = { kind, source, model };
  const day = days[n % 3 === 0 ? 1 : n % days.length] ?? '';
  // Several share a time and differ by their id alone.
  const key = {
    tenant: tenants[n % 5 === 0 ? 2 : n % 3],
    store: n % 7 === 0 ? '\u{1F600}' : n % 2 === 0 ? 'A' : 'b',
    event_id: `${ids[n % ids.length]}${n > 40 ? n : ''}`,
    occurred_at: `${day}T${times[(n >> 2) % times.length]}`,
  };
  const head = JSON.stringify({ ...key, ...labels }).slice(0, -1);
  const confidence = n % 4 === 0 ? '' : `,"confidence":${numbers[n % numbers.length]}`;
  return `${head}${confidence},"enrichment":${enrichments[n % enrichments.length]}}`;
}

/** Later ones of the same key are left out. */
const texts = [
  ...new Map(
    Array.from({ length: 80 }, (_, n) => recordText(n)).map((text) => {
      const { tenant, store, occurred_at, event_id } = JSON.parse(text);
      return [[tenant, store, occurred_at, event_id].join('/'), text] as const;
    }),
  ).values(),
  ...numberedRecords(tenants[3] ?? '', 3, (n) => ({
    event_id: `e${3 - n}`,
    occurred_at: '2001-02-01T00:00:00Z',
    kind: 'late',
  })).map((record) => JSON.stringify(record)),
];

const requests: PageRequest[] = [
  { limit: 5, tenant: 'CA' },
  { limit: 6, tenant: 'Ünï', order: 'desc' },
  { limit: 4, tenant: 'CA', store: 'A' },
  { limit: 3, tenant: 'CA', store: 'A', order: 'desc' },
  { limit: 17 },
  { limit: 17, order: 'desc' },
  { limit: 500 },
  { limit: 7, month: '2001-02' },
  { limit: 7, from: '2001-02-01', to: '2001-02-01', order: 'desc' },
  { limit: 7, store: 'b', month: '2001-02' },
  { limit: 3, tenant: '\u{1F600}' },
  { limit: 2, kind: '\u{FEFF}marked' },
  { limit: 2, kind: '\u{FEFF}marked', order: 'desc' },
  { limit: 3, source: '' },
  { limit: 2, kind: 'a "quoted" kind', source: "it's" },
  { limit: 3, kind: 'line\nfeed', tenant: 'CA' },
  { limit: 3, kind: 'nothing' },
  { limit: 1, tenant: 'CA', event_id: 'e2' },
  { limit: 1, event_id: 'e2', kind: 'late', order: 'desc' },
  { limit: 3, tenant: 'CA', event_id: 'nothing' },
  { limit: 2, event_id: 'a' },
  { limit: 2, event_id: '\u{1F600}', order: 'desc' },
  { limit: 1, tenant: 'CA', event_id: 'é', month: '2001-02' },
  { limit: 1, store: 'A', event_id: "it's", month: '2001-01', order: 'desc' },
  { limit: 3, tenant: 'nobody' },
  { limit: 2, where: 'f = 1 or deep.a.3.b = ""' },
  { limit: 3, where: 'n = 12345678901234567890 and confidence < 1', order: 'desc' },
  { limit: 1, where: 'not exists(f) and kind != "late"', store: 'A', kind: 'null' },
  { limit: 2, tenant: 'CA', event_id: 'a', where: 'confidence = 0.1 or not exists(confidence)' },
  { limit: 2, tenant: 'CA', dataset: 'training', where: 'e = 100 or any(deep.a) = null' },
  { limit: 3, tenant: 'CA', dataset: 'training' },
  { limit: 4, tenant: 'CA', dataset: 'training', order: 'desc' },
  { limit: 3, tenant: 'CA', dataset: 'training', store: 'A' },
  { limit: 3, tenant: 'CA', dataset: 'training', month: '2001-02', order: 'desc' },
  { limit: 1, tenant: 'CA', dataset: 'training', kind: '\u{FEFF}marked' },
  { limit: 500, tenant: 'Ünï', dataset: 'fine_tuning', order: 'desc' },
  { limit: 2, tenant: 'Ünï', dataset: 'fine_tuning', source: '' },
  { limit: 2, tenant: 'Ünï', dataset: 'training' },
  { limit: 4, tenant: 'CA', order: 'newest' },
  { limit: 3, tenant: 'Ünï', order: 'oldest' },
  { limit: 2, tenant: 'CA', store: 'A', order: 'newest' },
  { limit: 3, tenant: 'CA', order: 'oldest', month: '2001-02' },
  { limit: 1, tenant: 'CA', order: 'newest', kind: 'null' },
  { limit: 2, tenant: 'Ünï', order: 'oldest', where: 'f = 1 or deep.a.3.b = ""' },
  { limit: 3, tenant: 'CA', order: 'newest', dataset: 'training' },
  { limit: 2, tenant: 'CA', order: 'oldest', dataset: 'fine_tuning', source: '' },
  { limit: 2, tenant: 'CA', order: 'newest', dataset: 'training', where: 'e = 100' },
  { limit: 2, tenant: 'nobody', order: 'newest' },
];

/** Of some stores and days, and of all there are. */
async function tag(): Promise<void> {
  for (const [id, tenant, store, first, last, dataset] of [
    ['1', 'CA', 'A', '2001-01-31', '2001-02-01', 'training'],
    ['2', 'CA', '\u{1F600}', null, '2001-01-31', 'training'],
    ['3', 'CA', null, '2001-02-02', '2001-02-02', 'training'],
    ['4', 'CA', 'b', null, null, 'fine_tuning'],
    ['5', 'Ünï', null, null, null, 'fine_tuning'],
  ]) {
    await db.query(sql`
      insert into tags (tenant, id, store, first_day, last_day, dataset, created_by)
      values (${tenant}, ${id}, ${store}, ${first}::date, ${last}::date, ${dataset}, 'test')`);
  }
}

type Answers = { walks: string[][]; records: (string | undefined)[]; sums: unknown[] };
let asHot: Answers;

async function answers(): Promise<Answers> {
  const walks = await Promise.all(requests.map((request) => walk(records, request)));
  const found: (string | undefined)[] = [];
  for (const text of texts.slice(0, 24)) {
    const row = await records.find(keyOfText(text));
    found.push(JSON.stringify(row, Object.keys(row ?? {}).sort()));
  }
  const sums: unknown[] = [];
  for (const filter of [
    { kind: 'late' },
    { source: '\u{FEFF}', store: 'A' },
    { tenant: 'CA', where: 'f = 1 or confidence <= 0.1' },
    { kind: '', from: '2001-02-01', until: '2001-02-02' },
    { tenant: 'CA', dataset: 'training' },
    { tenant: 'CA', dataset: 'training', kind: '\u{FEFF}marked' },
    { tenant: 'Ünï', dataset: 'training', recordedBefore: '2100-01-01T00:00:00Z' },
    { tenant: 'Ünï', dataset: 'fine_tuning', recordedBefore: '2100-01-01T00:00:00Z' },
  ] as const) {
    const slice = { ...filter, tenants: null };
    const { count, bytes, digest } = await measureSlice(db, slice, cold);
    expect(await countSlice(db, slice, cold)).toMatchObject({ count, bytes });
    sums.push({ count, bytes, digest });
  }
  return { walks, records: found, sums };
}

function keyOfText(text: string): RecordKey {
  const { tenant, store, occurred_at, event_id } = JSON.parse(text);
  const micros = occurred_at.slice(20, -1).padEnd(6, '0');
  return [tenant, store, `${occurred_at.slice(0, 19)}.${micros}Z`, event_id];
}

beforeAll(async () => {
  await ingest(db, cold, [texts.slice(0, 50), texts.slice(50)]);
  await tag();
  asHot = await answers();
});

async function freezeAll(id: string, options: { lastDay?: string; filter?: string } = {}) {
  for (const [n, tenant] of tenants.entries()) {
    await freeze(db, cold, { tenant, id: `seg_${id}_${n}`, ...options });
  }
}

async function countHot(): Promise<number> {
  const { rows } = await db.pool.query('select count(*)::int as count from enrichment_records');
  return rows[0].count;
}

test('all hot: every record is there, and the walk back shows what the walk on showed', () => {
  const whole = asHot.walks[requests.findIndex(({ limit }) => limit === 500)]?.[0] ?? '';
  expect(JSON.parse(whole).data).toHaveLength(texts.length);
  expect(asHot.records.every((row) => row !== undefined)).toBe(true);
});

// In this order: each goes on from where the one before left.
test.each<[string, () => Promise<void>]>([
  ['a part of each day', () => freezeAll('1', { filter: 'length(event_id) = 1' })],
  ['each day in two segments and in hot', () => freezeAll('2', { filter: 'kind is not null' })],
  ['whole days', () => freezeAll('3', { lastDay: '2001-01-31' })],
  ['all', () => freezeAll('4')],
])('the same answers to the letter with %s cold', async (_name, move) => {
  const before = await countHot();
  await move();
  expect(await countHot()).toBeLessThan(before);
  expect(await answers()).toEqual(asHot);
});

test('what is counted of a dataset is what its pages show, and equals the counters', async () => {
  const [, , , , counted, kind, none, read] = asHot.sums as { count: number; digest: string }[];
  for (const [sum, request] of [
    [counted, { tenant: 'CA', dataset: 'training' }],
    [kind, { tenant: 'CA', dataset: 'training', kind: '\u{FEFF}marked' }],
    [none, { tenant: 'Ünï', dataset: 'training' }],
    [read, { tenant: 'Ünï', dataset: 'fine_tuning' }],
  ] as const) {
    expect((await page(records, { limit: 500, ...request })).data).toHaveLength(sum?.count ?? -1);
  }
  const slice = { tenant: 'Ünï', tenants: null };
  expect(read).toEqual(await measureSlice(db, slice));
  expect(counted?.count).toBeGreaterThan(kind?.count ?? 0);
});

test('nothing is hot by now, and single records are found in segments only', async () => {
  expect(await countHot()).toBe(0);
  const [tenant, store, at] = keyOfText(texts[0] ?? '');
  expect(await records.find([tenant, store, at, 'never'])).toBeUndefined();
  expect(await records.find([tenant, 'never', at, 'a'])).toBeUndefined();
});

test('events are found tenant by tenant, when only few filters are looked at', async () => {
  const narrow = bothTiers(db, cold, { ...usualLimits, filters: 1 });
  for (const request of requests.filter(({ event_id }) => event_id !== undefined)) {
    // The walk back shows the rows once more.
    const rows = async (tiers: TestTier) => {
      const shown = (await walk(tiers, request)).flatMap((text): object[] => JSON.parse(text).data);
      return [...new Set(shown.map((row) => JSON.stringify(row)))];
    };
    expect(await rows(narrow)).toEqual(await rows(records));
  }
});

test('the same answers with the segments merged into fewer', async () => {
  for (const [n, tenant] of tenants.entries()) {
    await compact(db, cold, { tenant, id: `seg_5_${n}` });
  }
  expect(await answers()).toEqual(asHot);
});

test('DuckDB alone reads the objects by their Hive paths, with the same count and digest', async () => {
  const [sum] = await cold.duckdb.run<Record<'count' | 'bytes' | 'digest' | 'tenants', string>>(
    `select count(*)::varchar as count, sum(bytes)::varchar as bytes, ${digestSumSql} as digest,
      count(distinct tenant)::varchar as tenants
    from read_parquet('${cold.dir}/**/*.parquet', hive_partitioning = true)`,
  );
  const { rows } = await db.pool.query(
    `select sum(count)::text as count, sum(bytes)::text as bytes,
      mod(sum(digest), 18446744073709551616)::text as digest, count(*)::text as tenants
    from leaf_tenants`,
  );
  expect(sum).toEqual(rows[0]);
  expect((await page(records, { limit: 500 })).data).toHaveLength(Number(sum?.count));
});
