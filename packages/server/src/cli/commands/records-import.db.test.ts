import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, test } from 'vitest';
import { startS3 } from '../../../test/s3.ts';
import { ends, useFolder } from '../testing/run.ts';
import { useServiceCli } from '../testing/service-cli.ts';

const folder = useFolder('once');
const { service, cli, ok, jsonOf, store } = useServiceCli({}, folder);
const pathOf = (name: string) => join(folder.path, name);

/** Has DuckDB write a file, as a user's own pipeline would. */
async function copy(query: string, name: string, options = ''): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`copy (${query}) to '${pathOf(name)}' ${options}`);
  connection.closeSync();
  instance.closeSync();
}

/** The records of a tenant as lines of NDJSON, without what only the service knows. */
async function linesOf(tenant: string): Promise<string[]> {
  const { stdout } = await ok(`records show --tenant ${tenant} --ndjson`);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/"recorded_at":"[^"]*",/, '').replace(/"bytes":\d+,/, ''));
}

const flights = (tenant: string, rows: number, more = '') => `
  select '${tenant}' as tenant, 'DFW' as store, 'fl-' || range as event_id,
    timestamp '2024-03-05 14:07:09.123456' + to_minutes(range::int) as occurred_at,
    range as n ${more} from range(${rows})`;

describe('values are taken over to the digit', () => {
  test('of Parquet, of every type', async () => {
    await copy(
      `select 'EXACT' as tenant, 7 as store, 9007199254740993::bigint as id,
        timestamptz '2024-03-05 14:07:09.123456+02' as ts, 0.1::float as confidence,
        'k' as kind, null::varchar as model,
        9223372036854775807::bigint as big, 12345678901234567890123456789012345678::decimal(38, 0) as huge,
        12345678901234567890.1230000000::decimal(38, 10) as price, 0.1::double as tenth,
        1e300::double as far, -0.0::double as zero, 0.1::float as narrow, true as yes,
        date '2024-02-29' as day, timestamp '2024-01-01' as plain, time '10:00:01.5' as clock,
        timestamp_ns '2024-01-01 00:00:00.123456789' as nanos,
        {'a b': [1, null, 3], 'c"d': {'x': 1.50::decimal(5, 2)}} as nested,
        map {'k"1': [true]} as named, map {1: 'x'} as numbered,
        null::struct(a int) as nothing, []::int[] as none, [[1], []] as lists,
        'q"\\é😀' || chr(1) || chr(10) as words, 'ab'::blob as bytes_of,
        uuid '6012c49d-e849-4925-9b4d-e4b5e7ea4ea6' as uuid,
        ('{"n": 1.10,' || chr(10) || '"m": 12345678901234567890123}')::json as js,
        timestamp '2025-01-01' as recorded_at`,
      'exact.parquet',
    );
    await ok('records import exact.parquet --map event_id=id --map occurred_at=ts');
    expect(await linesOf('EXACT')).toEqual([
      `{"tenant":"EXACT","store":"7","event_id":"9007199254740993","occurred_at":"2024-03-05T12:07:09.123456Z",` +
        `"kind":"k","source":null,"model":null,"confidence":0.1,"enrichment":{"big":9223372036854775807,` +
        `"huge":12345678901234567890123456789012345678,"price":12345678901234567890.1230000000,"tenth":0.1,` +
        `"far":1e+300,"zero":-0.0,"narrow":0.1,"yes":true,"day":"2024-02-29",` +
        `"plain":"2024-01-01T00:00:00.000000Z","clock":"10:00:01.5","nanos":"2024-01-01T00:00:00.123456789Z",` +
        `"nested":{"a b":[1,null,3],"c\\"d":{"x":1.50}},"named":{"k\\"1":[true]},"numbered":{"1":"x"},` +
        `"none":[],"lists":[[1],[]],"words":"q\\"\\\\é😀\\u0001\\n","bytes_of":"YWI=",` +
        `"uuid":"6012c49d-e849-4925-9b4d-e4b5e7ea4ea6","js":{"n":1.10,"m":12345678901234567890123}}}`,
    ]);
  });

  test('of CSV, whose cells are text, and of which nothing is guessed', async () => {
    const lines = [
      'event_id;occurred_at;confidence;kind;"a ""b""";N',
      '0123;2024-03-05 14:07:09.5;0.10;;"x;""y""\n";1.50',
      '"e2";2024-03-05T14:07:09+02:00;;"";2;',
      '',
      '3;2024-03-05 14:07:09+05;1e-3;k;é😀;true',
    ];
    await writeFile(pathOf('exact.csv'), lines.join('\n'));
    const words = 'records import exact.csv --delimiter ; --set tenant=CSV --set store=DFW';
    await ends(cli(words), 0, '1\t3\t3\t0\t0\n', [/^✓ 1 file, 3 rows: 3 new, 0 known · /]);
    const line = (id: string, at: string, rest: string) =>
      `{"tenant":"CSV","store":"DFW","event_id":"${id}","occurred_at":"2024-03-05T${at}000000Z",${rest}}`.replace(
        '500000000Z',
        '500000Z',
      );
    expect(await linesOf('CSV')).toEqual([
      line(
        '3',
        '09:07:09.',
        '"kind":"k","source":null,"model":null,"confidence":1e-3,"enrichment":{"a \\"b\\"":"é😀","N":"true"}',
      ),
      line(
        'e2',
        '12:07:09.',
        '"kind":"","source":null,"model":null,"confidence":null,"enrichment":{"a \\"b\\"":"2"}',
      ),
      line(
        '0123',
        '14:07:09.500',
        '"kind":null,"source":null,"model":null,"confidence":0.10,"enrichment":{"a \\"b\\"":"x;\\"y\\"\\n","N":"1.50"}',
      ),
    ]);
  });

  test('of NDJSON, to the letter', async () => {
    const text =
      '\ufeff{"ts": "2024-03-05T14:07:09Z", "id": 7, "n": 1.10, "big": 12345678901234567890123, "o": {"b": 1, "a": [ ]}}\n' +
      '\n{"ts":"2024-03-05T14:07:10Z","id":"8","é":null,"recorded_at":"x"}';
    await writeFile(pathOf('exact.ndjson.gz'), gzipSync(text));
    await ok(
      'records import exact.ndjson.gz --map occurred_at=ts --map event_id=id --set tenant=LINES --set store=S',
    );
    expect((await linesOf('LINES')).map((line) => line.replace(/.*"enrichment":/, ''))).toEqual([
      '{"n":1.10,"big":12345678901234567890123,"o":{"b":1,"a":[]}}}',
      '{"é":null}}',
    ]);
  });

  test('of our own exports, whose records are then the same', async () => {
    await store(
      Array.from({ length: 50 }, (_, n) => ({
        tenant: 'OWN',
        store: 'A',
        event_id: `e-${n}`,
        occurred_at: '2024-01-02T03:04:05Z',
        ...(n % 2 === 0 ? { kind: 'k', confidence: 0.5 } : {}),
        enrichment: { n, text: 'x,"y"\n', nothing: null },
      })),
    );
    const sums = 'records ls --level tenant --json count,bytes,digest --q OWN';
    const before = await jsonOf(sums);
    for (const format of ['csv', 'ndjson', 'parquet']) {
      await ok(
        `analytics export --tenant OWN --month 2024-01 --format ${format} --out own.${format}`,
      );
      const again = await jsonOf(`records import own.${format} --json`);
      expect(again).toMatchObject({ rows: 50, accepted: 0, duplicates: 50, rejected_count: 0 });
    }
    expect(await jsonOf(sums)).toEqual(before);
  });

  test('of times that are counted', async () => {
    await copy(
      `select range as event_id, unnest(list_value(1709647629123, 1709647629.5)) as at from range(1)`,
      'counted.parquet',
    );
    const words =
      'records import counted.parquet --map occurred_at=at --time-unit ms --set tenant=COUNTED --set store=S';
    await ok(words);
    expect((await linesOf('COUNTED')).map((line) => JSON.parse(line).occurred_at)).toEqual([
      '1970-01-20T18:54:07.629500Z',
      '2024-03-05T14:07:09.123000Z',
    ]);
  });
});

describe('svcctl records import', () => {
  beforeAll(async () => {
    await mkdir(pathOf('history/2024'), { recursive: true });
    await copy(flights('T', 100), 'history/2024/a.parquet');
    await copy(`select * from (${flights('T', 300)}) offset 100`, 'history/2024/b.parquet');
    await writeFile(pathOf('history/README'), 'not meant');
  });

  test('takes patterns and folders, and a second run changes nothing', async () => {
    const check = await jsonOf('records import history/**/*.parquet --check --json');
    expect(check).toEqual({
      files: 2,
      rows: 300,
      accepted: 300,
      duplicates: 0,
      rejected_count: 0,
      rejected: [],
    });
    expect(await jsonOf('records ls --tenant T --json')).toEqual([]);
    await ends(cli('records import history/2024/*.parquet'), 0, '2\t300\t300\t0\t0\n');
    const sums = await jsonOf('records ls --tenant T --json count,digest');
    expect(sums).toMatchObject([{ count: 300 }]);
    await ends(cli('records import history'), 0, '2\t300\t0\t300\t0\n', [
      /^✓ 2 files, 300 rows: 0 new, 300 known · /,
    ]);
    expect(await jsonOf('records ls --tenant T --json count,digest')).toEqual(sums);
  });

  test('--check tells what would be new, known, rejected and in conflict', async () => {
    await copy(
      `select * replace (if(n = 5, -1, n) as n, if(n = 6, 'a/b', store) as store) from (${flights('T', 305)})
       union all by name select *, 'nan'::double as x from (${flights('T', 1)}) where n < 1`,
      'mixed.parquet',
    );
    const { stdout, stderr } = await ends(cli('records import mixed.parquet --check'), 7, /^/, [
      '3 of 306 rows would be rejected (records_rejected)\n  Nothing was stored;',
      /conflict +1 +mixed\.parquet:6 +a record with this identity is stored with other content/,
      /field_invalid +1 +mixed\.parquet:7 +store must be/,
      /json_invalid +1 +mixed\.parquet:306 /,
    ]);
    expect(stdout, stderr).toBe('1\t306\t5\t298\t3\n');
    expect(await jsonOf('records ls --tenant T --json count')).toEqual([{ count: 300 }]);
    const json = await ends(cli('records import mixed.parquet --json'), 7, /^{/);
    expect(JSON.parse(json.stdout)).toMatchObject({
      accepted: 5,
      duplicates: 298,
      rejected_count: 3,
      rejected: [
        { file: 'mixed.parquet', row: 6, code: 'conflict' },
        { row: 7, code: 'field_invalid' },
        { row: 306, code: 'json_invalid' },
      ],
    });
  });

  test('--check compares with cold records, too', async () => {
    await copy(flights('COLD', 20), 'cold.parquet');
    await ok('records import cold.parquet');
    await ok('retention run --tenant COLD --yes');
    expect(await jsonOf('records ls --tenant COLD --json tier')).toEqual([{ tier: 'cold' }]);
    const same = await ok('records import cold.parquet --check --json');
    expect(JSON.parse(same.stdout)).toMatchObject({ accepted: 0, duplicates: 20 });
    await copy(
      flights('COLD', 21).replace('range as n', 'greatest(range, 1) as n'),
      'cold2.parquet',
    );
    const { stdout } = await ends(cli('records import cold2.parquet --check --json'), 7, /^{/);
    expect(JSON.parse(stdout)).toMatchObject({
      accepted: 1,
      duplicates: 19,
      rejected_count: 1,
      rejected: [{ row: 1, code: 'conflict' }],
    });
  });

  test('takes files of a bucket in S3', async () => {
    const s3 = await startS3();
    try {
      await s3.seed(
        'archive',
        ['a.ndjson', 'b.csv', 'README'],
        'event_id,occurred_at\n1,2024-01-01 00:00:00\n',
      );
      const words = `records import ${s3.urlOf('archive/*.csv')} --set tenant=S3 --set store=S`;
      await ends(cli(words), 0, '1\t1\t1\t0\t0\n');
      await ends(cli(words.replace('*.csv', 'README')), 1, ['its name ends as none of']);
      await ends(cli(words.replace('*.csv', 'none')), 1, [
        'there are no files that could be imported',
      ]);
      await ends(cli(words.replace('archive', 'archive?x')), 2, ['has the unknown parameter x']);
    } finally {
      await s3.close();
    }
  });

  test('says what a token may not do', async () => {
    const pipeline = await service.makeToken({ preset: 'pipeline', tenants: ['T'] });
    await copy(flights('U', 3), 'foreign.parquet');
    await ends(
      cli('records import foreign.parquet --check', { token: pipeline.token }),
      7,
      '1\t3\t0\t0\t3\n',
      ['tenant_not_allowed'],
    );
    await ends(
      cli('records import history --check', { token: pipeline.token }),
      0,
      '2\t300\t0\t300\t0\n',
    );
    const reader = await service.makeToken({ preset: 'support-readonly' });
    await ends(cli('records import history', { token: reader.token }), 4, ['scope_missing']);
  });
});

describe('before anything is sent', () => {
  const refused = async (words: string, code: number, said: (string | RegExp)[]) => {
    const before = await jsonOf('records ls --level tenant --json tenant,count');
    await ends(cli(`records import ${words}`), code, said);
    expect(await jsonOf('records ls --level tenant --json tenant,count')).toEqual(before);
  };
  beforeAll(async () => {
    await mkdir(pathOf('parts'));
    for (let n = 0; n < 9; n += 1) await copy(flights(`P${n}`, 3), `parts/${n}.parquet`);
    await copy(`select * exclude (store) from (${flights('P', 3)})`, 'parts/9.parquet');
  });

  test('the columns of all files are checked', async () => {
    await refused('parts', 2, [
      'error: 1 file of 10 cannot be mapped, so nothing was sent (columns_unmapped)\n',
      'parts/9.parquet: no column is the store: --map store=COLUMN, or --set store=VALUE for all rows.\n',
    ]);
    await ends(
      cli('records import parts/0.parquet parts/9.parquet --set store=X --skip store --check'),
      0,
      /^/,
      ['note: parts/9.parquet differs from parts/0.parquet: it lacks store'],
    );
  });

  test.each([
    ['parts/0.parquet --map kind=sort', 2, 'it has no column sort for kind'],
    ['parts/0.parquet --set store=X', 2, 'it has a column store, which --set store would hide'],
    ['parts/0.parquet --map enrichment=n --map kind=event_id', 2, 'no column is the event_id'],
    [
      'parts/0.parquet --map enrichment=store --set store=A',
      2,
      'these have no place: n; leave them out by --skip COLUMN',
    ],
    ['parts/0.parquet --map nothing=n', 2, 'does not say a field of a record'],
    ['parts/0.parquet --map kind', 2, 'does not say FIELD=…'],
    ['parts/0.parquet --delimiter ab', 2, 'it is one character'],
    ['parts/0.parquet --time-unit h', 2, 'Allowed choices are s, ms, us, ns'],
    ['none.parquet', 1, 'none.parquet cannot be read: there is no such file (file_unreadable)'],
    ['none/*.parquet', 1, 'no file has such a name'],
    ['short.csv', 1, 'it is empty'],
    ['twice.csv', 1, 'two columns have the name a'],
    ['nonsense.parquet', 1, 'nonsense.parquet cannot be read: No magic bytes found'],
    ['history/README', 1, 'its name ends as none of'],
    ['empty', 1, 'there are no files that could be imported'],
  ])('%s ends with %d: %s', async (words, code, message) => {
    await mkdir(pathOf('empty'), { recursive: true });
    await writeFile(pathOf('short.csv'), '');
    await writeFile(pathOf('twice.csv'), 'a,a\n');
    await writeFile(pathOf('nonsense.parquet'), 'PAR1nonsense');
    await refused(words, code, [message]);
  });
});

test('what is to be a number is stored as one, and a row in which it is none is rejected', async () => {
  const rows = ['1,2024-01-01T00:00:00Z,0.50', '2,2024-01-01T00:00:00Z,n/a'];
  await writeFile(pathOf('scores.csv'), ['event_id,occurred_at,score', ...rows].join('\n'));
  const words = 'records import scores.csv --set tenant=NUM --set store=S';
  const { stderr } = await cli(`${words} --number score`, { columns: 300 });
  expect(stderr).toMatch(/json_invalid +1 +scores\.csv:2 .*what --number makes a number is none/);
  const found = await cli('records show --tenant NUM --where score>=0.5 --ndjson');
  expect(found.stdout).toContain('"enrichment":{"score":0.50}');
  await writeFile(pathOf('scores.csv'), ['event_id,occurred_at,score', rows[0]].join('\n'));
  const asText = await cli(`${words} --check`);
  expect(asText.stderr).toContain('note: what looks like a number becomes text in score');
});

test('the recipe of docs/importing.md does what it says', async () => {
  const doc = await readFile(new URL('../../../../../docs/importing.md', import.meta.url), 'utf8');
  const blocks = [...doc.matchAll(/^```\n(\$ .*?)^```/gms)].map(([, block = '']) => block);
  expect(blocks.length).toBeGreaterThan(3);
  for (const step of blocks.flatMap((block) => block.split(/^\$ /m).slice(1))) {
    const [command = '', ...shown] = step.trimEnd().split('\n');
    const file = /^cat > (\S+) <<'END'$/.exec(command)?.[1];
    if (file !== undefined) {
      await writeFile(pathOf(file), `${shown.slice(0, -1).join('\n')}\n`);
      continue;
    }
    const words = command.replace(/^svcctl /, '').replaceAll("'", '');
    const { stdout, stderr } = await cli(words, { isTerminal: true, columns: 2000 });
    for (const line of shown) expect(`${stdout}${stderr}`, command).toContain(line);
  }
});
