import { join } from 'node:path';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { untilLockWaits } from '../../../test/one-server.ts';
import { runs } from '../../../test/runs.ts';
import { createPartitions } from '../ingest/store-part.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { mergeSegments } from './merge-segments.ts';
import { readSegmentDays, readSegmentKeys } from './read-segment.ts';
import type { DayTriple } from './segment.ts';
import { instantSql, readSegments } from './segment-sql.ts';
import { spoolHotRows } from './spool.ts';
import { writeSegmentFromSegments, writeSegmentFromSpool } from './write-segment.ts';

const db = useTestDatabase();
const cold = useColdStore();
const fileOf = (name: string) => join(cold.spoolDir, name);
beforeAll(() => createPartitions(db).ensure(['2001-03']));

type Stored = {
  store: string;
  occurred_at: string;
  event_id: string;
  kind: string | null;
  source: string | null;
  model: string | null;
  confidence: string | null;
  enrichment: string;
};

const range = { firstDay: '2001-03-01', lastDay: '2001-03-31' };
let tenants = 0;

/** Puts records into a tenant of their own and makes a segment of them. */
async function makeSegment(records: readonly Stored[]) {
  const tenant = `TX-${++tenants}`;
  await db.query(sql`
    insert into enrichment_records (tenant, store, occurred_at, event_id, recorded_at, kind, source, model,
      confidence, bytes, digest, enrichment)
    select ${tenant}, store, occurred_at, event_id, '2001-04-01T00:00:00.000001Z', kind, source, model,
      confidence, octet_length(enrichment), record_digest(${tenant}, store, occurred_at, event_id, kind,
      source, model, confidence, enrichment::json), enrichment::json
    from json_to_recordset(${JSON.stringify(records)}::json) as given(store text, occurred_at timestamptz,
      event_id text, kind text, source text, model text, confidence text, enrichment text)`);
  await db.query(sql`
    insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at)
    select tenant, store, (occurred_at at time zone 'UTC')::date, count(*), sum(bytes),
      mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616),
      min(occurred_at), max(occurred_at)
    from enrichment_records where tenant = ${tenant} group by 1, 2, 3`);
  const spoolPath = fileOf(`${tenant}.csv`);
  const path = fileOf(`${tenant}.parquet`);
  const days = await spoolHotRows(db, { tenant, ...range, path: spoolPath });
  const { length: count } = records;
  await writeSegmentFromSpool(cold.duckdb, { tenant, spoolPath, target: path, count, bytes: 100 });
  return { tenant, path, days };
}

function triples(days: readonly DayTriple[]) {
  return days.map(({ store, day, count, bytes, digest }) => ({ store, day, count, bytes, digest }));
}

const pieces = [
  ...'",\n\r\\\uFEFF\u0001\'😀 \té',
  ...['""', '\r\n', '\\N', '\\.', '\u0001n', '\u0001e', 'NULL'],
];
const awkward = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 3 })), { maxLength: 6 })
  .map((parts) => parts.join('').replaceAll('\0', ''));
const label = fc.option(awkward);
const record = fc.record({
  store: fc.constantFrom('A', 'a', '\uFEFFB', 'é', '😀', '\uFFFD'),
  occurred_at: fc
    .integer({ min: 0, max: 31 * 86_400 - 1 })
    .map((second) =>
      new Date(Date.UTC(2001, 2, 1) + second * 1000).toISOString().replace('000Z', '000001Z'),
    ),
  event_id: awkward,
  kind: label,
  source: label,
  model: label,
  confidence: fc.constantFrom(null, '0.10', '1e-3', ''),
  enrichment: awkward.map((text) => JSON.stringify({ text, [text]: [null, ''] })),
});
const keyOf = (row: Stored) => `${row.store}/${row.occurred_at}/${row.event_id}`;

test('what is awkward in CSV comes through the spool file to the letter', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(record, { minLength: 1, maxLength: 40, selector: keyOf }),
      async (records) => {
        const { tenant, path, days } = await makeSegment(records);
        const found = await readSegmentDays(cold.duckdb, { tenant, path });
        expect(triples(found)).toEqual(triples(days));
        const [row] = await cold.duckdb.run<{ rows: string }>(`
          select to_json(list({store: store, occurred_at: ${instantSql('occurred_at')},
            event_id: event_id, kind: kind, source: source, model: model, confidence: confidence,
            enrichment: enrichment}))::varchar as rows from ${readSegments([path])}`);
        const stored = (JSON.parse(row?.rows ?? '[]') as Stored[]).map((read) => ({
          ...read,
          occurred_at: new Date(read.occurred_at).toISOString().replace('000Z', '000001Z'),
        }));
        const order = (a: Stored, b: Stored) =>
          Buffer.compare(Buffer.from(keyOf(a)), Buffer.from(keyOf(b)));
        expect(stored.sort(order)).toEqual([...records].sort(order));
      },
    ),
    { numRuns: runs(40) },
  );
});

function simple(n: number, more: Partial<Stored> = {}): Stored {
  return {
    store: 'A',
    occurred_at: `2001-03-${String((n % 28) + 1).padStart(2, '0')}T00:00:00.000001Z`,
    event_id: `e${n}`,
    kind: null,
    source: '',
    model: null,
    confidence: null,
    enrichment: '{}',
    ...more,
  };
}

test('an enrichment of 16 MiB, all quotes, comes through', async () => {
  const enrichment = JSON.stringify({ text: '"'.repeat(8 * 2 ** 20 - 6) });
  const records = [simple(0), simple(1, { enrichment }), simple(2)];
  const { tenant, path, days } = await makeSegment(records);
  expect(triples(await readSegmentDays(cold.duckdb, { tenant, path }))).toEqual(triples(days));
});

test('a segment made of two has the records of both in order, or those that a filter keeps', async () => {
  const [a, b] = [
    await makeSegment([simple(0), simple(2), simple(4)]),
    await makeSegment([simple(1), simple(3)]),
  ];
  const merged = fileOf('merged.parquet');
  const sizes = { count: 5, bytes: 500 };
  await writeSegmentFromSegments(cold.duckdb, {
    paths: [a.path, b.path],
    target: merged,
    ...sizes,
  });
  const rows = await cold.duckdb.run(`select event_id from ${readSegments([merged])}`);
  expect(rows.map((row) => row.event_id)).toEqual(['e0', 'e1', 'e2', 'e3', 'e4']);
  const filter = `event_id not in ('e0', 'e4')`;
  await writeSegmentFromSegments(cold.duckdb, {
    paths: [a.path],
    target: merged,
    ...sizes,
    filter,
  });
  expect(await readSegmentDays(cold.duckdb, { tenant: a.tenant, path: merged })).toMatchObject([
    { store: 'A', day: '2001-03-03', first_row: 0, count: 1 },
  ]);
});

test('stretch by stretch merged, segments have all records in order', async () => {
  const stores = ['A', "o'hara", '\uFEFFB', '\uFFFD', '😀'];
  const records = stores.flatMap((store) => [0, 1, 2, 3, 4, 5].map((n) => simple(n, { store })));
  const whole = await makeSegment(records);
  const halves = [0, 1].map((half) => fileOf(`half-${half}.parquet`));
  for (const [half, target] of halves.entries()) {
    const filter = `file_row_number % 2 = ${half}`;
    const sizes = { count: 15, bytes: 1500 };
    await writeSegmentFromSegments(cold.duckdb, { paths: [whole.path], target, ...sizes, filter });
  }
  // As large as this, each store's day is sorted by itself.
  const days = whole.days.map((day) => ({ ...day, bytes: 2 ** 26 }));
  const target = fileOf('stretches.parquet');
  await mergeSegments(cold.duckdb, { paths: halves, days, target });
  const merged = await readSegmentDays(cold.duckdb, { tenant: whole.tenant, path: target });
  expect(triples(merged)).toEqual(triples(whole.days));
});

test('keys are read from the rows asked for', async () => {
  const { path } = await makeSegment(
    [0, 1, 2, 3].map((n) => simple(n, { event_id: `\uFEFF"e${n}` })),
  );
  const keys = [];
  for await (const page of readSegmentKeys(cold.duckdb, { path, first_row: 1, count: 2 }))
    keys.push(page);
  expect(keys).toEqual([
    {
      occurredAt: ['2001-03-02T00:00:00.000001Z', '2001-03-03T00:00:00.000001Z'],
      eventIds: ['\uFEFF"e1', '\uFEFF"e2'],
    },
  ]);
});

test.each([
  ['order', `select * from rows order by event_id desc`, /not in order/],
  [
    'order',
    `select * from rows union all select * from rows where event_id = 'e3'`,
    /not in order/,
  ],
  ['tenant', `select * replace ('other' as tenant) from rows`, /tenant other/],
])('a file that is wrong in its %s is told', async (kind, query, message) => {
  const { tenant, path } = await makeSegment([0, 1, 2, 3].map((n) => simple(n)));
  const wrong = fileOf('wrong.parquet');
  await cold.duckdb.run(
    `copy (with rows as (select * exclude (file_row_number) from ${readSegments([path])}) ${query})
     to '${wrong}' (format parquet)`,
  );
  const reading = readSegmentDays(cold.duckdb, { tenant, path: wrong });
  await expect(reading).rejects.toMatchObject({
    name: 'SegmentFault',
    kind,
    message: expect.stringMatching(message),
  });
});

test('a file that is no Parquet is told', async () => {
  const { tenant } = await makeSegment([simple(0)]);
  const reading = readSegmentDays(cold.duckdb, { tenant, path: fileOf(`${tenant}.csv`) });
  await expect(reading).rejects.toMatchObject({ name: 'SegmentFault', kind: 'unreadable' });
});

test('a store is copied out of the partitions of its own days alone', async () => {
  await createPartitions(db).ensure(['1970-01', '1985-07', '2001-04']);
  const tenant = 'spread';
  await db.query(sql`
    insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at)
    select ${tenant}, store, day::date, 1, 9, 0, day::timestamptz, day::timestamptz
    from (values ('S1', '1970-01-02'), ('S2', '2001-03-05')) as given(store, day)`);
  await db.query(sql`
    insert into enrichment_records (tenant, store, occurred_at, event_id, recorded_at, bytes, digest, enrichment)
    select tenant, store, first_at, 'e', first_at, 9, 0, '{}' from leaf_days where tenant = ${tenant}`);
  const range = { tenant, firstDay: '1970-01-01', lastDay: '2001-12-31' };
  let read: unknown;
  // What a statement has planned is locked until the transaction ends.
  const rest = async () => {
    [read] = await db.query(sql`
      select array_agg(distinct relation::regclass::text order by relation::regclass::text) as partitions
      from pg_locks join pg_database on pg_database.oid = database and datname = current_database()
      where pid <> pg_backend_pid() and mode = 'AccessShareLock'
        and relation::regclass::text ~ '^enrichment_records_[0-9_]+$'`);
  };
  await spoolHotRows(db, { ...range, path: fileOf('spread.csv'), rest });
  expect(read).toEqual({
    partitions: ['enrichment_records_1970_01', 'enrichment_records_2001_03'],
  });
});

test('an aborted spool waits for nothing, and leaves the pool usable', async () => {
  const path = fileOf('aborted.csv');
  const abort = new AbortController();
  const spool = () => spoolHotRows(db, { tenant: 'TX-1', ...range, path, signal: abort.signal });
  await db.transaction(async (connection) => {
    await connection.query(sql`lock leaf_days in access exclusive mode`);
    const spooling = spool();
    await Promise.race([untilLockWaits(db), spooling]);
    abort.abort(new Error('stopped'));
    await expect(spooling).rejects.toThrow('stopped');
    await expect(spool()).rejects.toThrow('stopped');
  });
  expect(await db.query(sql`select 1 as one`)).toEqual([{ one: 1 }]);
});
