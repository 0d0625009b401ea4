import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useFolder } from '../../../test/folder.ts';
import { formatDigest } from '../../kernel/digest.ts';
import { storeUnavailable } from '../../platform/objects/objects.ts';
import { withPin } from '../../records/index.ts';
import { seedPolicy } from '../policies/testing/seed.ts';
import { createDayImporter } from './import-days.ts';
import type { MoverContext } from './move.ts';
import { eraseOnce } from './testing/eraser.ts';
import { at, dieAt, killPoints } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal, objectKeys, totals } from './testing/truth.ts';

const mover = useTestMover();

const folder = useFolder();
const day = '2001-03-01';
const lastDay = '2001-03-02';

/** SQL of typed rows: two stores, two days, five rows of each. */
const rowsOf = (tenant: string, replace = '', source = 'range(20) r(n)') => `
  select * ${replace} from (
    select '${tenant}' as tenant, if(n < 10, 'DFW', 'ORD') as store, 'e-' || n as event_id,
      ('2001-03-0' || (1 + n % 10 // 5) || ' 00:00:0' || n % 10)::timestamptz as occurred_at,
      if(n % 3 = 0, null, 'tag') as kind, 'vision' as source, null::varchar as model, '0.10' as confidence,
      {'n': n, 'text': 'é "quoted"', 'list': [{'x': n / 4}, null]} as keys
    from ${source})`;

/** Writes rows, which SQL selects, as an upload. */
async function upload(rows: string): Promise<string> {
  const path = join(folder.path, 'upload.parquet');
  await mover.duckdb.run(`copy (${rows}) to '${path}' (format parquet)`);
  return path;
}

async function importRows(tenant: string, rows: string, more: Partial<MoverContext> = {}) {
  const path = await upload(rows);
  const importer = createDayImporter({
    ...mover.context(more),
    maxEnrichmentBytes: 1000,
    lockMillis: 2000,
  });
  try {
    return await importer.take(testActor, tenant, path);
  } finally {
    await importer.stop();
  }
}

async function countOf(tenant: string): Promise<number> {
  const rows = await mover.db.query<{ count: number }>(
    sql`select count from leaf_tenants where tenant = ${tenant}`,
  );
  return rows[0]?.count ?? 0;
}

test('days become cold at once, are counted, and are told to tails', async () => {
  const imported = await importRows('new', rowsOf('new'));
  expect(imported).toMatchObject({ tenant: 'new', count: 20 });
  expect(await differences(mover, 'new')).toEqual([]);
  expect((await totals(mover, 'new')).tenants).toMatchObject([
    {
      count: 20,
      bytes: imported.bytes,
      first_at: '2001-03-01 00:00:00+00',
      last_at: '2001-03-02 00:00:09+00',
    },
  ]);
  expect(await journal(mover, 'new')).toMatchObject([
    { kind: 'import', state: 'removed', source_count: 20, object_count: 20 },
  ]);
  const parts = await mover.db.query(
    sql`select store, day::text as day, count from stored_parts where tenant = 'new' order by 1, 2`,
  );
  expect(parts).toHaveLength(4);
  const [segment] = await mover.db.query<{ object_key: string }>(
    sql`select object_key from segments where tenant = 'new'`,
  );
  const [record] = await mover.duckdb.run(
    `select kind, source, model, confidence, bytes, enrichment, recorded_at > now() - interval 1 hour as is_new
    from '${mover.store.pathOf(segment?.object_key ?? '')}' where event_id = 'e-13'`,
  );
  const enrichment = '{"n":13,"text":"é \\"quoted\\"","list":[{"x":3.25},null]}';
  const line = `{"tenant":"new","store":"ORD","event_id":"e-13","occurred_at":"2001-03-01T00:00:03.000000Z","kind":"tag","source":"vision","confidence":0.10,"enrichment":${enrichment}}`;
  expect(record).toEqual({
    kind: 'tag',
    source: 'vision',
    model: null,
    confidence: '0.10',
    enrichment,
    bytes: Buffer.byteLength(line),
    is_new: true,
  });
});

test('what is there is counted on', async () => {
  await addRecords(mover.db, makeRecords('beside', { days: ['2001-03-05'] }));
  await importRows('beside', rowsOf('beside'));
  const later = "replace ('LAX' as store, occurred_at + interval 1 second as occurred_at)";
  await importRows('beside', rowsOf('beside', later, 'range(5) r(n)'));
  expect(await countOf('beside')).toBe(35);
  expect(await differences(mover, 'beside')).toEqual([]);
  // Neither what came before nor what came between makes the times narrower.
  const { tenants, tenantMonths } = await totals(mover, 'beside');
  const times = {
    first_at: '2001-03-01 00:00:00+00',
    last_at: expect.stringMatching(/^2001-03-05/),
  };
  expect([...tenants, ...tenantMonths]).toMatchObject([times, times]);
});

test('the same again is refused, and changes nothing', async () => {
  await importRows('again', rowsOf('again'));
  const before = [await totals(mover, 'again'), await journal(mover, 'again')];
  await expect(importRows('again', rowsOf('again'))).rejects.toMatchObject({ code: 'days_held' });
  expect([await totals(mover, 'again'), await journal(mover, 'again')]).toEqual(before);
});

const keysAs = (value: string) => `replace (${value} as keys)`;
test.each([
  [
    'records of another tenant',
    "replace (if(keys.n = 3, 'x', tenant) as tenant)",
    /of the tenant x/,
  ],
  ['a tenant with a hidden name', "replace ('bad\u200b' as tenant)", /of the tenant bad/],
  ['a store with a slash', "replace (if(store = 'DFW', 'A/b', store) as store)", /is no name/],
  ['no event id', "replace ('' as event_id)", /not such as ingest takes/],
  [
    'an event id with a line break',
    'replace (event_id || chr(10) as event_id)',
    /not such as ingest takes/,
  ],
  [
    'an event id of 201 characters',
    "replace (repeat('é', 201) as event_id)",
    /not such as ingest takes/,
  ],
  [
    'an event twice',
    "replace ('e' as event_id, '2001-03-01'::timestamptz as occurred_at)",
    /do not ascend/,
  ],
  [
    'rows out of order',
    'replace (if(keys.n = 3, occurred_at + interval 1 hour, occurred_at) as occurred_at)',
    /do not ascend/,
  ],
  [
    'a time before 1970',
    "replace ('1969-12-31'::timestamptz as occurred_at)",
    /not such as ingest takes/,
  ],
  [
    'no time',
    'replace (if(keys.n = 0, null, occurred_at) as occurred_at)',
    /cannot be read|no records|do not ascend|not such/,
  ],
  [
    'times of another type',
    'replace (occurred_at::timestamp as occurred_at)',
    /occurred_at must be/,
  ],
  ['a confidence above 1', "replace ('1.01' as confidence)", /not such as ingest takes/],
  ['a confidence that is no JSON', "replace ('.5' as confidence)", /not such as ingest takes/],
  ['a kind with U+001F', 'replace (chr(31) as kind)', /not such as ingest takes/],
  ['NaN', keysAs("{'a': [{'b': 'nan'::double}]}"), /not such as ingest takes/],
  ['an infinity', keysAs("{'a': '-inf'::float}"), /not such as ingest takes/],
  ['U+0000', keysAs("{'a': chr(0)}"), /not such as ingest takes/],
  [
    'an enrichment that is too large',
    keysAs("{'a': repeat('x', 993)}"),
    /not such as ingest takes/,
  ],
  ['a map', keysAs("{'a': map {'k': 1}}"), /one STRUCT/],
  ['text in place of a struct', keysAs("'{}'"), /one STRUCT/],
  ['a column too many', 'replace (tenant as tenant), 1 as more', /one STRUCT/],
  ['no column of models', 'exclude (model)', /model must be/],
])('an upload with %s is refused, and nothing is stored', async (_name, replace, reason) => {
  await expect(importRows('bad', rowsOf('bad', replace))).rejects.toMatchObject({
    code: 'upload_invalid',
    detail: expect.stringMatching(reason),
  });
  expect(await journal(mover, 'bad')).toEqual([]);
});

test('what is no Parquet is refused', async () => {
  const importer = createDayImporter({ ...mover.context(), maxEnrichmentBytes: 1000 });
  const path = join(folder.path, 'garbage.parquet');
  await writeFile(path, 'PAR1 or not');
  await expect(importer.take(testActor, 'bad', path)).rejects.toMatchObject({
    code: 'upload_invalid',
  });
});

test.each(killPoints)('killed at %s: the next mover ends it with all or nothing', async (point) => {
  const tenant = `kill-${point.replace(' ', '-')}`;
  const stored = point === 'planned after' || point === 'copied before' ? 0 : 20;
  await expect(importRows(tenant, rowsOf(tenant), dieAt(point))).rejects.toThrow('killed');
  expect(await differences(mover, tenant)).toEqual([]);
  await mover.move(tenant, lastDay);
  expect(await countOf(tenant)).toBe(stored);
  expect(await differences(mover, tenant)).toEqual([]);
  expect(await journal(mover, tenant)).toMatchObject([
    stored > 0
      ? { kind: 'import', state: 'removed' }
      : { kind: 'import', state: 'failed', error_code: 'upload_gone' },
  ]);
  const again = importRows(tenant, rowsOf(tenant));
  if (stored > 0) await expect(again).rejects.toMatchObject({ code: 'days_held' });
  else expect(await again).toMatchObject({ count: 20 });
  expect(await countOf(tenant)).toBe(20);
  expect(await differences(mover, tenant)).toEqual([]);
});

test('of two imports of the same days one stores them', async () => {
  const path = await upload(rowsOf('two'));
  await copyFile(path, `${path}.2`);
  const importer = createDayImporter({ ...mover.context(), maxEnrichmentBytes: 1000 });
  const results = await Promise.allSettled(
    [path, `${path}.2`].map((each) => importer.take(testActor, 'two', each)),
  );
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'days_held' },
  });
  expect(await countOf('two')).toBe(20);
  expect(await differences(mover, 'two')).toEqual([]);
});

test.each(['copied', 'verified'] as const)(
  'records that come by ingest once it is %s stay, and it stores nothing',
  async (state) => {
    const tenant = `late-${state}`;
    const late = makeRecords(tenant, { days: [day], stores: ['DFW'], perDay: 1 });
    const come = at(`${state} after`, () => addRecords(mover.db, late));
    await expect(importRows(tenant, rowsOf(tenant), come)).rejects.toMatchObject({
      code: 'days_held',
    });
    expect(await countOf(tenant)).toBe(1);
    expect(await differences(mover, tenant)).toEqual([]);
    expect(await journal(mover, tenant)).toMatchObject([
      { state: 'failed', failed_in: 'verified', error_code: 'days_held' },
    ]);
  },
);

test.each([
  [
    'a version',
    'pinned',
    (tenant: string, at: string, n: number) => sql`
      insert into dataset_versions (tenant, id, name, dataset, slices, tags, recorded_before, count, bytes, digest, parts, created_by)
      values (${tenant}, ${`ver_${n}`}, ${`v${n}`}, 'training', '[]', '[]', ${at}::timestamptz, 0, 0, 0, '[]', 'me')`,
  ],
  [
    'a schedule',
    'scheduled',
    (tenant: string, at: string, n: number) => sql`
      insert into export_schedules (tenant, id, name, cron, format, request, target, delivered_before, created_by, token_id)
      values (${tenant}, ${`sch_${n}`}, ${`s${n}`}, '0 2 * * *', 'csv', '{}', '/nowhere', ${at}::timestamptz, 'me', 'tok')`,
  ],
])(
  'what %s pinned meanwhile never gets the records, so it is done anew',
  async (_, tenant, note) => {
    let pins = 0;
    let pinnedAt = '';
    const pin = () =>
      withPin(mover.db, tenant, {
        read: async (snapshot, recordedBefore) => {
          const rows = await snapshot.query(
            sql`select count from leaf_tenants where tenant = ${tenant}`,
          );
          return { rows, recordedBefore };
        },
        write: async (connection, { rows, recordedBefore }) => {
          expect(rows).toEqual([]);
          pins += 1;
          pinnedAt = recordedBefore;
          await connection.query(note(tenant, recordedBefore, pins));
        },
      });
    const pinOnce = () => (pins === 0 ? pin() : undefined);
    await importRows(tenant, rowsOf(tenant), at('verified after', pinOnce));
    expect(await journal(mover, tenant)).toMatchObject([
      { state: 'failed', error_code: 'pinned_meanwhile' },
      { state: 'removed' },
    ]);
    const early = await mover.db.query(sql`
    select 1 from stored_parts where tenant = ${tenant} and recorded_at <= ${pinnedAt}::timestamptz`);
    expect(early).toEqual([]);
    expect(await differences(mover, tenant)).toEqual([]);
  },
);

test('an erasure after a kill finds what the import had copied', async () => {
  await expect(importRows('erased', rowsOf('erased'), dieAt('verified after'))).rejects.toThrow(
    'killed',
  );
  const receipt = await eraseOnce(mover, { tenant: 'erased', event_ids: ['e-3'] });
  expect(receipt.erased.count).toBe(1);
  expect(await countOf('erased')).toBe(19);
  expect(await differences(mover, 'erased')).toEqual([]);
});

test.each(['planned', 'copied', 'verified', 'switched'] as const)(
  'an erasure that is asked for once an import is %s erases of what it stores',
  async (state) => {
    const tenant = `asked-${state}`;
    let erasing: ReturnType<typeof eraseOnce> | undefined;
    const ask = at(`${state} after`, () => {
      erasing = eraseOnce(mover, { tenant, event_ids: ['e-3', 'e-17'] });
    });
    await importRows(tenant, rowsOf(tenant), ask);
    expect((await erasing)?.erased.count).toBe(2);
    expect(await countOf(tenant)).toBe(18);
    expect(await differences(mover, tenant)).toEqual([]);
  },
);

test('days that the policy keeps hot, a hold and a store that is away are refused', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const young = rowsOf(
    'young',
    `replace ('${today}'::timestamptz as occurred_at)`,
    'range(1) r(n)',
  );
  await expect(importRows('young', young)).rejects.toMatchObject({ code: 'days_held' });
  await seedPolicy(mover.db, { tenant: 'held', hotDays: 3, hold: true });
  await expect(importRows('held', rowsOf('held'))).rejects.toMatchObject({
    code: 'tenant_on_hold',
  });
  const away = {
    ...mover.store,
    put: () => Promise.reject(storeUnavailable('The store', 'is away', {})),
  };
  await expect(importRows('away', rowsOf('away'), { store: away })).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
  });
  expect([await countOf('young'), await countOf('held'), await countOf('away')]).toEqual([0, 0, 0]);
  await mover.move('away', lastDay);
  expect((await objectKeys(mover)).filter((key) => /=(young|held|away)\//.test(key))).toEqual([]);
});

test('a plan names the days that are free', async () => {
  await importRows('plan', rowsOf('plan'));
  const importer = createDayImporter({ ...mover.context(), maxEnrichmentBytes: 1000 });
  const today = new Date().toISOString().slice(0, 10);
  const leaves = [
    { store: 'DFW', days: [day, '2001-03-09', today] },
    { store: 'ORD', days: [day, lastDay] },
  ];
  expect(await importer.plan(testActor, { tenant: 'plan', leaves })).toEqual({
    tenant: 'plan',
    leaves: [{ store: 'DFW', days: ['2001-03-09'] }],
    known: [],
  });
  const limited = { ...testActor, tenants: ['other'] };
  expect(await importer.plan(limited, { tenant: 'plan', leaves })).toMatchObject({ leaves: [] });
});

test('a plan names the days that hold just the records that are asked about', async () => {
  await importRows('known', rowsOf('known'));
  const [held] = await mover.db.query<{ count: number; bytes: number; digest: string }>(sql`
    select count, bytes, digest::text as digest from leaf_days
    where tenant = 'known' and store = 'DFW' and day = ${day}`);
  const digest = formatDigest(BigInt(held?.digest ?? 0));
  const same = { store: 'DFW', day, count: held?.count ?? 0, bytes: held?.bytes ?? 0, digest };
  const known = [
    { ...same, count: 4 },
    { ...same, bytes: 1 },
    { ...same, digest: formatDigest(BigInt(held?.digest ?? 0) ^ 1n) },
    { ...same, store: 'ORD' },
    { ...same, day: '2001-03-09' },
    same,
  ];
  const importer = createDayImporter({ ...mover.context(), maxEnrichmentBytes: 1000 });
  const asked = { tenant: 'known', leaves: [], known };
  expect(await importer.plan(testActor, asked)).toEqual({ ...asked, known: [same] });
  const limited = { ...testActor, tenants: ['other'] };
  expect(await importer.plan(limited, asked)).toEqual({ tenant: 'known', leaves: [] });
});
