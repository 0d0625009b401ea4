import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { ends, useFolder } from '../testing/run.ts';
import { useServiceCli } from '../testing/service-cli.ts';

const folder = useFolder('once');
const { service, cli, ok } = useServiceCli({}, folder);

/** Has DuckDB write a file, as a user's own pipeline would. */
async function copy(query: string, name: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const options = name.endsWith('.csv') ? '' : '(row_group_size 2048)';
  await connection.run(`copy (${query}) to '${join(folder.path, name)}' ${options}`);
  connection.closeSync();
  instance.closeSync();
}

/** How many records of a tenant there are, and how many of them are cold, by the counters and by the journal. */
async function stateOf(tenant: string) {
  const [counted] = await service.db.query<{ count: number; cold: number }>(
    sql`select count, cold_count as cold from leaf_tenants where tenant = ${tenant}`,
  );
  const [hot] = await service.db.query<{ count: number }>(
    sql`select count(*) as count from enrichment_records where tenant = ${tenant}`,
  );
  expect(hot?.count).toBe((counted?.count ?? 0) - (counted?.cold ?? 0));
  const moves = await service.db.query<{ told: string }>(sql`
    select kind || ' ' || state as told from moves where tenant = ${tenant} order by planned_at`);
  return [counted?.count ?? 0, counted?.cold ?? 0, moves.map(({ told }) => told)];
}

/** The first records of a tenant by the number of their event, with their bytes, without what differs by tenant. */
async function recordsOf(tenant: string) {
  const words = `records show --tenant ${tenant} --from 2024-03-05 --to 2024-03-05 --ndjson --limit 500`;
  const lines = (await ok(words)).stdout.trimEnd().split('\n');
  const numberOf = (line: string) => Number(/"event_id":"fl-(\d+)"/.exec(line)?.[1]);
  return lines
    .filter((line) => numberOf(line) < 100)
    .sort((a, b) => numberOf(a) - numberOf(b))
    .map((line) => ({
      text: line.replace(/"(?:tenant|recorded_at)":"[^"]*",|"bytes":\d+,/g, ''),
      bytes: Number(/"bytes":(\d+)/.exec(line)?.[1]) - tenant.length,
    }));
}

const rowsOf = (tenant: string, rows: number, more = '') => `
  select '${tenant}' as tenant, if(range % 2 = 0, 'DFW', 'ORD') as store, 'fl-' || range as event_id,
    timestamp '2024-03-05 14:07:09.123456' + to_seconds(range::int * 100) as occurred_at,
    if(range % 3 = 0, null, 'k') as kind, range / 8192 as confidence, range as n ${more}
  from range(${rows})`;

const everything = `,
  9223372036854775807::bigint as big, 12345678901234567890123456789012345678::decimal(38, 0) as huge,
  0.50::decimal(9, 2) as price, 0.1::double as tenth, 1e300::double as far, -0.0::double as zero,
  0.1::float as narrow, true as yes, date '2024-02-29' as day, timestamp '2024-01-01' as plain,
  time '10:00:01.5' as clock, timestamp_ns '2024-01-01 00:00:00.123456789' as nanos,
  {'a b': [1, null, 3], 'c"d': {'x': 1.50::decimal(5, 2)}} as nested, null::struct(a int) as nothing,
  []::int[] as none, [[1], []] as lists, if(range % 5 = 0, null, 'q"\\é😀' || chr(1) || chr(10)) as words,
  'ab'::blob as "bytes of", uuid '6012c49d-e849-4925-9b4d-e4b5e7ea4ea6' as uuid,
  timestamp '2025-01-01' as recorded_at`;

test('old days become cold at once, and hold what ingest would have stored', async () => {
  await copy(rowsOf('COLD', 1500, everything), 'cold.parquet');
  await copy(rowsOf('HOT', 150, everything), 'hot.parquet');
  await ends(cli('records import cold.parquet hot.parquet'), 0, '2\t1650\t1650\t0\t0\n', [
    /^✓ 2 files, 1,650 rows: 1,650 new, 0 known · /,
  ]);
  expect(await stateOf('COLD')).toEqual([1500, 1500, ['import removed']]);
  expect(await stateOf('HOT')).toEqual([150, 0, []]);
  const cold = await recordsOf('COLD');
  expect(cold).toHaveLength(100);
  expect(cold).toEqual(await recordsOf('HOT'));
});

test('cells of CSV become cold as the text that ingest would have stored', async () => {
  const cells = ", if(range % 4 = 0, null, 'x, \"y\"') as words, '0041' as code";
  await copy(rowsOf('CSV', 1500, cells), 'cold.csv');
  await copy(rowsOf('CELLS', 150, cells), 'hot.csv');
  await ends(cli('records import cold.csv hot.csv'), 0, '2\t1650\t1650\t0\t0\n', [
    /1,650 new, 0 known/,
  ]);
  expect(await stateOf('CSV')).toEqual([1500, 1500, ['import removed']]);
  expect(await stateOf('CELLS')).toEqual([150, 0, []]);
  const cold = await recordsOf('CSV');
  expect(cold[1]?.text).toContain('"enrichment":{"n":"1","words":"x, \\"y\\"","code":"0041"}');
  expect(cold).toEqual(await recordsOf('CELLS'));
});

test.each([
  ['WIDE', 'wide.csv', 'payload'],
  ['PACKED', 'packed.parquet', 'payload'],
  ['JSON', 'json.parquet', 'payload::json'],
])(
  'an enrichment that is JSON text becomes cold to the letter (%s)',
  async (tenant, name, payload) => {
    const body = `'{"n":' || range || ',"price":0.50,"far":1E400,"who":{"id":"é\\u00e9","n":12345678901234567890}}'`;
    const packed = (of: string, rows: number) =>
      `select * exclude (n, payload), ${payload} as payload from (${rowsOf(of, rows, `, ${body} as payload`)})`;
    await copy(packed(tenant, 1500), name);
    await copy(packed(`${tenant}H`, 150), `hot-${name}`);
    const spaced = `select * replace (replace(payload::varchar, ':', ': ') as payload)
    from (${packed(tenant, 1501)}) where event_id = 'fl-1500'`;
    await copy(spaced, `odd-${name}`);
    await copy(
      `select * from '${join(folder.path, name)}' union all by name from '${join(folder.path, `odd-${name}`)}'`,
      name.replace('.', '-all.'),
    );
    const words = `records import ${name.replace('.', '-all.')} hot-${name} --map enrichment=payload`;
    await ends(cli(words), 0, '2\t1651\t1651\t0\t0\n', [/1,651 new, 0 known/]);
    expect((await stateOf(tenant)).slice(0, 2)).toEqual([1501, 1500]);
    expect(await stateOf(`${tenant}H`)).toEqual([150, 0, []]);
    const cold = await recordsOf(tenant);
    expect(cold[1]?.text).toContain(
      '"enrichment":{"n":1,"price":0.50,"far":1E400,"who":{"id":"é\\u00e9","n":12345678901234567890}}',
    );
    expect(cold.map(({ text }) => text)).toEqual(
      (await recordsOf(`${tenant}H`)).map(({ text }) => text),
    );
  },
);

test('of an object with a key twice, ingest says which row has it', async () => {
  const body = `'{"n":{"k":1,"' || if(range = 7, 'k', 'l') || '":2}}'`;
  const rows = rowsOf('TWICE', 1500, `, ${body} as payload`);
  await copy(`select * exclude (n) from (${rows})`, 'twice.csv');
  const { stdout, stderr } = await cli('records import twice.csv --map enrichment=payload --json');
  expect(stderr).toContain('an object in its enrichments has a key twice');
  expect(JSON.parse(stdout)).toMatchObject({
    accepted: 1499,
    rejected: [{ row: 8, code: 'json_duplicate_key' }],
  });
  expect((await stateOf('TWICE')).slice(0, 2)).toEqual([1499, 0]);
});

test('of a CSV file that breaks off, the rows before that are stored one by one', async () => {
  await copy(rowsOf('BROKEN', 1500), 'broken.csv');
  await appendFile(join(folder.path, 'broken.csv'), 'BROKEN,DFW\n');
  const { code, stderr } = await cli('records import broken.csv');
  expect(code).toBe(1);
  expect(stderr).toContain('broken.csv cannot be read');
  expect((await stateOf('BROKEN'))[1]).toBe(0);
});

test('its move does not rest because of the import that waits for it', async () => {
  const restedSeconds = async () => {
    const { text } = await service.call('GET', '/~/metrics');
    return Number(/rest_seconds_total{work="moves"} (\S+)/.exec(text)?.[1]);
  };
  await copy(rowsOf('ALONE', 1500), 'alone.parquet');
  const before = await restedSeconds();
  await ok('records import alone.parquet');
  expect(await stateOf('ALONE')).toEqual([1500, 1500, ['import removed']]);
  expect(before).not.toBeNaN();
  expect(await restedSeconds()).toBe(before);
});

test('days and what goes through ingest are of one job', async () => {
  const { stdout } = await ok('jobs ls --kind import --json');
  expect(JSON.parse(stdout).at(-1)).toMatchObject({
    kind: 'import',
    state: 'completed',
    progress: { done: 1650, total: 1650 },
    summary:
      'Imports 2 files: 1,650 new records, 1,500 of them on 6 days cold at once, 0 known; 150 rows through ingest, 0 rejected.',
  });
});

/** How many records came by ingest, and were there already. */
async function countDuplicates(): Promise<number> {
  const { text } = await service.call('GET', '/~/metrics');
  return Number(/records_total\{result="duplicate"\} (\d+)/.exec(text)?.[1]);
}

test('the same files again change nothing, and late records of these days stay hot', async () => {
  const before = [await stateOf('COLD'), await stateOf('HOT'), await countDuplicates()];
  await ends(cli('records import cold.parquet hot.parquet'), 0, '2\t1650\t0\t1650\t0\n', [
    /0 new, 1,650 known/,
  ]);
  expect([await stateOf('COLD'), await stateOf('HOT'), await countDuplicates()]).toEqual(before);
  await copy(rowsOf('COLD', 1600, everything), 'more.parquet');
  await ends(cli('records import more.parquet'), 0, '1\t1600\t100\t1500\t0\n', [
    /100 new, 1,500 known/,
  ]);
  expect((await stateOf('COLD')).slice(0, 2)).toEqual([1600, 1500]);
});

test('of a day on which one row is another, ingest says which one it is', async () => {
  const other = `select * replace (if(n = 3, 99, n) as n) from (${rowsOf('HOT', 150, everything)})`;
  await copy(other, 'other.parquet');
  const { stdout } = await cli('records import other.parquet --json');
  expect(JSON.parse(stdout)).toMatchObject({
    rows: 150,
    duplicates: 149,
    rejected: [{ row: 4, code: 'conflict' }],
  });
});

test('rows that are odd, twice, or young take the way of ingest, and keep their numbers', async () => {
  const odd = `
    select * replace (case n when 7 then '' when 8 then 'a' || chr(10) when 9 then 'q"' else event_id end as event_id,
      case n when 11 then 1.5 else confidence end as confidence)
    from (${rowsOf('ODD', 1500)})
    union all by name select * from (${rowsOf('ODD', 1500)}) where n in (20, 21)
    union all by name select * replace (99 as n) from (${rowsOf('ODD', 1500)}) where n = 30
    union all by name select * replace (now()::timestamp - interval 1 hour as occurred_at)
      from (${rowsOf('ODD', 1500)}) where n = 40`;
  await copy(odd, 'odd.parquet');
  const { stdout } = await cli('records import odd.parquet --json');
  const told = JSON.parse(stdout);
  expect(told).toMatchObject({ rows: 1504, accepted: 1498, duplicates: 2, rejected_count: 4 });
  expect(told.rejected.map(({ row, code }: { row: number; code: string }) => [row, code])).toEqual([
    [8, 'field_invalid'],
    [9, 'field_invalid'],
    [12, 'field_invalid'],
    [1503, 'conflict'],
  ]);
  expect((await stateOf('ODD')).slice(0, 2)).toEqual([1498, 1493]);
});

test('what the service cannot take as it is goes through ingest, and is told', async () => {
  const query = rowsOf('NAN', 1200, ", if(range = 5, 'nan'::double, 1.5) as x");
  await copy(query, 'nan.parquet');
  const { stdout, stderr, code } = await cli('records import nan.parquet --json');
  expect(code).toBe(7);
  expect(stderr).toMatch(
    /NAN goes through ingest: upload_invalid: The upload cannot be stored as it is/,
  );
  expect(JSON.parse(stdout)).toMatchObject({
    rows: 1200,
    accepted: 1199,
    rejected: [{ row: 6, code: 'json_invalid' }],
  });
  expect((await stateOf('NAN')).slice(0, 2)).toEqual([1199, 0]);
});

test('times that are numbers or text, fields that are set, and an enrichment that is one column', async () => {
  const columns = `range as id, epoch_ms(timestamp '2023-01-01' + to_minutes(range::int)) as ms,
    strftime(timestamp '2023-01-01' + to_minutes(range::int), '%Y-%m-%d %H:%M:%S') as printed,
    strftime(timestamp '2023-01-01 05:30:00' + to_minutes(range::int), '%Y-%m-%d %H:%M:%S')
      || if(range % 2 = 0, '+05:30', '+05') as zoned,
    {'n': range, 'none': null::int} as body`;
  await copy(`select ${columns} from range(1200)`, 'mapped.parquet');
  const words = '--map event_id=id --map enrichment=body --set store=S --set confidence=0.50';
  for (const [tenant, time, rest] of [
    ['MS', 'ms', '--skip printed --skip zoned --time-unit ms'],
    ['TEXT', 'printed', '--skip ms --skip zoned'],
    ['ZONED', 'zoned', '--skip ms --skip printed'],
  ]) {
    await ok(
      `records import mapped.parquet ${words} --set tenant=${tenant} --map occurred_at=${time} ${rest}`,
    );
    expect(await stateOf(tenant ?? '')).toEqual([1200, 1200, ['import removed']]);
    const { stdout } = await ok(
      `records show --tenant ${tenant} --from 2023-01-01 --to 2023-01-01 --ndjson --limit 1`,
    );
    expect(stdout).toContain('"occurred_at":"2023-01-01T00:00:00.000000Z');
    expect(stdout).toContain('"confidence":0.50');
    expect(stdout).toMatch(/"enrichment":\{"n":\d+,"none":null\}/);
  }
});

test('a check stores nothing, and --resume passes over what is stored', async () => {
  await copy(rowsOf('LATER', 1500), 'later.parquet');
  await ends(cli('records import later.parquet --check'), 0, '1\t1500\t1500\t0\t0\n', [
    /would be new/,
    /./,
  ]);
  expect(await stateOf('LATER')).toEqual([0, 0, []]);
  await ok('records import later.parquet --resume state');
  await ends(cli('records import later.parquet --resume state'), 0, '1\t0\t0\t0\t0\n', [
    /1,500 rows were answered before/,
    /./,
  ]);
  expect((await stateOf('LATER')).slice(0, 2)).toEqual([1500, 1500]);
});
