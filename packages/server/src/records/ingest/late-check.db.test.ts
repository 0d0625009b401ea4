import { open, rename, unlink } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { createIngest, type Ingest } from './ingest.ts';
import { useFreezer } from './testing/freeze.ts';
import {
  bodyOf,
  ingestLimits,
  dayRecord as record,
  dayRecords as records,
} from './testing/post-records.ts';

const db = useTestDatabase();
const freezer = useFreezer(db);
let ingest: Ingest;
/** Runs once, after the next look into a segment. */
let afterLook: (() => Promise<unknown>) | null = null;

beforeAll(() => {
  ingest = createIngest(db, {
    ...ingestLimits,
    maxRecords: 20,
    cold: {
      objects: freezer.objects,
      duckdb: {
        ...freezer.duckdb,
        async run(statements, options) {
          const rows = await freezer.duckdb.run(statements, options);
          const then = afterLook;
          afterLook = null;
          await then?.();
          return rows as never;
        },
      },
    },
  });
});

const batch = (...records: unknown[]) =>
  ingest.batch(bodyOf(JSON.stringify({ records })), testActor);
const stream = (...records: unknown[]) =>
  ingest.stream(bodyOf(records.map((one) => `${JSON.stringify(one)}\n`).join(''), true), testActor);

async function hotIds(tenant: string): Promise<string[]> {
  const rows = await db.query<{ event_id: string }>(
    sql`select event_id from enrichment_records where tenant = ${tenant} order by 1`,
  );
  return rows.map((row) => row.event_id);
}

async function counted(tenant: string) {
  const [row] = await db.query(sql`
    select (select sum(count)::int from leaf_days where tenant = ${tenant}) as days,
      (select count::int from leaf_tenants where tenant = ${tenant}) as tenant,
      (select sum(cold_count)::int from leaf_days where tenant = ${tenant}) as cold`);
  return row;
}

test('a missing segment refuses the late records, stores none of the part and says which days', async () => {
  await batch(...records('missing', 6));
  const path = await freezer.freeze('missing');
  await rename(path, `${path}.away`);
  // Its filter says that it may hold the first, and that it does not hold the second.
  const refused = batch(record('missing', 0), record('missing', 98), record('elsewhere', 1));
  await expect(refused).rejects.toMatchObject({
    code: 'segment_damaged',
    detail: expect.stringMatching(/tenant missing from 2025-03-01 to 2025-03-01.*seg\d+\.parquet/),
  });
  expect(await hotIds('missing')).toEqual([]);
  expect(await hotIds('elsewhere')).toEqual([]);
  expect(await counted('missing')).toEqual({ days: 6, tenant: 6, cold: 6 });
  expect(await batch(record('missing', 98))).toMatchObject({ accepted: 1 });
  await db.query(sql`update segments set event_filter = null where tenant = 'missing'`);
  await expect(batch(record('missing', 100))).rejects.toMatchObject({ code: 'segment_damaged' });
  await rename(`${path}.away`, path);
  expect(await batch(record('missing', 0), record('missing', 100))).toMatchObject({
    accepted: 1,
    duplicates: 1,
  });
});

test('events of several segments and days are asked of the filters of their own', async () => {
  await batch(...records('many', 12));
  await freezer.freeze('many');
  await batch(...records('many', 6, 12));
  await freezer.freeze('many');
  await batch(...records('other', 6, 18));
  await freezer.freeze('other');
  const asked = [...records('many', 24), ...records('other', 24)];
  for (const one of asked) {
    const isHeld = Number(one.event_id.slice(1)) < 18 === (one.tenant === 'many');
    const [accepted, duplicates] = isHeld ? [0, 1] : [1, 0];
    expect(await batch(one)).toMatchObject({ accepted, duplicates, rejected_count: 0 });
  }
});

test('a flipped byte refuses the late part of a stream and keeps the parts before it', async () => {
  await batch(...records('flipped', 6));
  const file = await open(await freezer.freeze('flipped'), 'r+');
  await file.write(Buffer.from([0xff]), 0, 1, 40);
  await file.close();
  const early = Array.from({ length: 60 }, (_, n) =>
    record('flipped', n, { occurred_at: '2025-05-05T00:00:00Z' }),
  );
  await expect(stream(...early, record('flipped', 0))).rejects.toMatchObject({
    code: 'segment_damaged',
  });
  expect(await hotIds('flipped')).toHaveLength(60);
});

test('a catalogue that has fewer records than are counted refuses late records', async () => {
  await batch(...records('short', 6));
  await freezer.freeze('short');
  await db.query(sql`update segment_days set count = count - 1 where tenant = 'short'`);
  await expect(batch(record('short', 100))).rejects.toMatchObject({ code: 'segment_damaged' });
});

test.each([
  ['batch', batch],
  ['stream', stream],
])('a %s tells late duplicates, conflicts and new records apart', async (name, send) => {
  await send(...records(name, 12));
  await freezer.freeze(name);
  const answer = await send(
    record(name, 0),
    record(name, 50),
    record(name, 1, { kind: 'other' }),
    record(name, 2, { kind: '' }),
    record(name, 50),
    record(name, 50, { kind: 'other' }),
    record(name, 3),
    record(`${name}-hot`, 1),
  );
  expect(answer).toMatchObject({ accepted: 2, duplicates: 3, rejected_count: 3 });
  expect(answer.rejected.map(({ index, code }) => `${index} ${code}`)).toEqual([
    '2 conflict',
    '3 conflict',
    '5 conflict',
  ]);
  expect(await hotIds(name)).toEqual(['e50']);
  expect(await counted(name)).toEqual({ days: 13, tenant: 13, cold: 12 });
});

test('records sent again after they went cold are duplicates, in many parts and segments', async () => {
  const first = records('again', 60);
  const second = records('again', 60, 60);
  await stream(...first);
  await freezer.freeze('again');
  await stream(...second);
  await freezer.freeze('again');
  expect(await stream(...first, ...second)).toEqual({
    accepted: 0,
    duplicates: 120,
    rejected: [],
    rejected_count: 0,
  });
  expect(await stream(...second, ...records('again', 5, 200))).toMatchObject({
    accepted: 5,
    duplicates: 60,
  });
  expect(await counted('again')).toEqual({ days: 125, tenant: 125, cold: 120 });
});

test('values of every sort compare by content', async () => {
  const values = ['', '\ufeff', '\ufeffx', '"', "'", '\\', 'a\tb\nc', '😀', 'null', '$1'];
  const odd = values.map((value, n) =>
    record('odd', 0, {
      event_id: value === '' || value.includes('\t') ? `e${n}` : value,
      store: value === '' || value.trim() !== value || value.includes('\t') ? `s${n}` : value,
      kind: value,
      confidence: 0.1,
      enrichment: { [value]: value },
    }),
  );
  const bare = record('odd', 90, { kind: undefined });
  expect(await batch(...odd, bare)).toMatchObject({ accepted: 11 });
  await freezer.freeze('odd');
  expect(await batch(...odd, bare, record('odd', 91))).toMatchObject({
    accepted: 1,
    duplicates: 11,
    rejected_count: 0,
  });
  const changed = odd.map((one) => ({ ...one, kind: `${one.kind}\ufeff` }));
  expect(await batch(...changed, { ...bare, kind: '' })).toMatchObject({
    accepted: 0,
    duplicates: 0,
    rejected_count: 11,
  });
});

test('a move that switches between the look and the counting is noticed', async () => {
  await batch(...records('raced', 4));
  await freezer.freeze('raced');
  await batch(record('raced', 10));
  // The late record of the part goes hot by another writer, and cold, while the part is being checked.
  afterLook = async () => {
    await batch(record('raced', 12));
    await freezer.freeze('raced');
  };
  expect(await batch(...[12, 14, 10, 0].map((n) => record('raced', n)))).toMatchObject({
    accepted: 1,
    duplicates: 3,
  });
  expect(await hotIds('raced')).toEqual(['e14']);
  expect(await counted('raced')).toEqual({ days: 7, tenant: 7, cold: 6 });
});

test.each(['before', 'after'])(
  'a segment that was replaced and removed %s it was opened is looked up where it is now',
  async (when) => {
    const tenant = `replaced ${when}`;
    await batch(...records(tenant, 4));
    const path = await freezer.freeze(tenant);
    const rewritten = path.replace('.parquet', '-2.parquet');
    const openObject = freezer.objects.open.bind(freezer.objects);
    let isFirst = true;
    freezer.objects.open = async (ref, options) => {
      if (!isFirst) return openObject(ref, options);
      isFirst = false;
      const opened = when === 'after' ? await openObject(ref, options) : null;
      await rename(path, rewritten);
      await db.query(
        sql`update segments set id = id || '-2', object_key = replace(object_key, '.parquet', '-2.parquet')
          where tenant = ${tenant}`,
      );
      await db.query(
        sql`update segment_days set segment_id = segment_id || '-2' where tenant = ${tenant}`,
      );
      return opened ?? openObject(ref, options);
    };
    expect(await batch(record(tenant, 0), record(tenant, 20))).toMatchObject({
      accepted: 1,
      duplicates: 1,
    });
    expect(isFirst).toBe(false);
    freezer.objects.open = openObject;
  },
);

test('days whose cold records never rest answer 503 after some attempts and store nothing', async () => {
  await batch(...records('restless', 4));
  const path = await freezer.freeze('restless');
  let changes = 0;
  const change = async () => {
    changes += 1;
    await db.query(
      sql`update leaf_days set cold_digest = mod(cold_digest + 1, 18446744073709551616) where tenant = 'restless'`,
    );
    afterLook = change;
  };
  afterLook = change;
  await expect(batch(record('restless', 0), record('restless', 30))).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
    retryAfterSeconds: expect.any(Number),
  });
  afterLook = null;
  expect(changes).toBeGreaterThan(1);
  expect(await hotIds('restless')).toEqual([]);
  await unlink(path);
});
