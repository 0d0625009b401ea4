import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { formatDigest } from '../../kernel/digest.ts';
import { storeUnavailable } from '../../platform/objects/objects.ts';
import { seedPolicy } from '../policies/testing/seed.ts';
import { createDayImporter } from './import-days.ts';
import { importedDays, rowsOf, useDayImports } from './testing/day-imports.ts';
import { at } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences, journal, objectKeys, totals } from './testing/truth.ts';

// What happens meanwhile, and all kills: import-days.slow.db.test.ts.

const mover = useTestMover();
const { folder, importRows, countOf, beginImport, countsOf } = useDayImports(mover);
const [day, lastDay] = importedDays;

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

test('days count in the import that they belong to, and one that was cancelled stores none', async () => {
  await beginImport('imp_1');
  await importRows('of', rowsOf('of'), {}, { import: 'imp_1' });
  expect(await countsOf('imp_1')).toEqual([{ cold: 20, cold_days: 4 }]);
  const cancel = () =>
    mover.db.query(
      sql`update record_imports set state = 'cancelled', finished_at = now() where id = 'imp_1'`,
    );
  const cancelled = { code: 'job_finished' };
  const late = importRows('ended', rowsOf('ended'), at('verified after', cancel), {
    import: 'imp_1',
  });
  await expect(late).rejects.toMatchObject(cancelled);
  expect(await journal(mover, 'ended')).toMatchObject([
    { state: 'failed', error_code: 'import_ended' },
  ]);
  const ended = importRows('ended', rowsOf('ended'), {}, { import: 'imp_1' });
  await expect(ended).rejects.toMatchObject(cancelled);
  expect(await countOf('ended')).toBe(0);
  expect(await differences(mover, 'ended')).toEqual([]);
  expect(await countsOf('imp_1')).toEqual([{ cold: 20, cold_days: 4 }]);
  const unknown = importRows('ended', rowsOf('ended'), {}, { import: 'imp_2' });
  await expect(unknown).rejects.toMatchObject({ code: 'job_not_found' });
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
  await expect(importer.take(testActor, { tenant: 'bad' }, path)).rejects.toMatchObject({
    code: 'upload_invalid',
  });
});

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
