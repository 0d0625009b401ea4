import { appendFile, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { useFolder } from '../../../test/folder.ts';
import { use } from '../../../test/use.ts';
import { openImporter } from './open-file.ts';
import type { Piece } from './open-table.ts';

const folder = useFolder();
const importer = use(
  () =>
    openImporter({
      mapping: { columns: {}, values: {}, skipped: [], timeUnit: undefined },
      delimiter: ',',
      signal: new AbortController().signal,
    }),
  (made) => made.close(),
  'once',
);

const line = (n: number) =>
  `{"tenant":"T","store":"S","event_id":"${n}","occurred_at":"2024-01-01T00:00:00Z","enrichment":{}}\n`;
const pathOf = (name: string) => join(folder.path, name);

/** Has DuckDB write a file. */
async function copy(query: string, path: string, options: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`copy (${query}) to '${path}' (${options})`);
  connection.closeSync();
  instance.closeSync();
}

async function textOf(pieces: AsyncIterable<Piece>): Promise<{ text: string; rows: number }> {
  let text = '';
  let rows = 0;
  for await (const piece of pieces) {
    text += piece.text.toString('latin1');
    rows += piece.rows;
  }
  return { text, rows };
}

test('lines of NDJSON keep their numbers, whatever they hold', async () => {
  const bytes = [Buffer.from(`${line(0)}\n \n${line(3)}`), Buffer.of(0x22, 0xff, 0x22, 0x0a)];
  await writeFile(pathOf('a.ndjson'), Buffer.concat([...bytes, Buffer.from(line(5).trimEnd())]));
  const file = await importer.open(pathOf('a.ndjson'), 'ndjson');
  const all = await textOf(file.records(0));
  expect(all).toEqual({ text: `${line(0)}\n\n${line(3)}\u00ff\n${line(5)}`, rows: 6 });
  for (let from = 1; from < 7; from += 1) {
    const rest = await textOf(file.records(from));
    expect(rest.text).toBe(all.text.split('\n').slice(from).join('\n'));
    expect(rest.rows).toBe(6 - from > 0 ? 6 - from : 0);
  }
});

test.each([
  ['csv', 'a.csv.gz'],
  ['ndjson', 'a.ndjson.gz'],
] as const)('rows of %s are found again by their numbers', async (format, name) => {
  const rows = Array.from({ length: 5000 }, (_, n) =>
    format === 'csv' ? `T,S,"e\n${n}",2024-01-01T00:00:00Z\n` : line(n),
  );
  const header = format === 'csv' ? 'tenant,store,event_id,occurred_at\n' : '';
  await writeFile(pathOf(name), gzipSync(header + rows.join('')));
  const file = await importer.open(pathOf(name), format);
  expect(file.faults).toEqual([]);
  const all = await textOf(file.records(0));
  expect(all.rows).toBe(5000);
  const rest = await textOf(file.records(4321));
  expect(rest.rows).toBe(679);
  expect(rest.text).toBe(all.text.split('\n').slice(4321).join('\n'));
});

test.each(['parquet', 'csv'] as const)(
  'a file of %s whose name would be a pattern is itself',
  async (format) => {
    for (const name of ['a[1]*?', 'a1bc']) {
      const query = `select '${name}' as event_id from range(${name.length})`;
      await copy(query, pathOf(`${name}.${format}`), `format ${format}`);
    }
    const file = await importer.open(pathOf(`a[1]*?.${format}`), format);
    const { text, rows } = await textOf(file.records(0));
    expect(text).toBe('{"event_id":"a[1]*?","enrichment":{}}\n'.repeat(6));
    expect(rows).toBe(6);
    if (format === 'parquet') expect(file.rows).toBe(6);
  },
);

test.each([
  ['grows', (path: string) => appendFile(path, line(9))],
  [
    'is replaced by one of the same size',
    async (path: string) => {
      await writeFile(`${path}.new`, line(2).repeat(20_000));
      await rename(`${path}.new`, path);
    },
  ],
  ['is written to', (path: string) => utimes(path, 1, 1)],
])('a file that %s while it is read is told from others', async (_, change) => {
  const path = pathOf('a.ndjson');
  await writeFile(path, line(1).repeat(20_000));
  const file = await importer.open(path, 'ndjson');
  const pieces = file.records(0);
  expect((await pieces.next()).done).toBe(false);
  await change(path);
  await expect(textOf(pieces)).rejects.toMatchObject({
    code: 'file_changed',
    detail: expect.stringContaining(`${path} changed while it was read`),
  });
  // It was opened before, so it is another one from its first row on.
  await expect(textOf(file.records(0))).rejects.toMatchObject({ code: 'file_changed' });
});

test.each([
  ['parquet', 'format parquet'],
  ['csv', 'format csv'],
] as const)(
  'a file of %s that is written anew before it is staged is told from others',
  async (format, options) => {
    const path = pathOf(`a.${format}`);
    const write = (rows: number) =>
      copy(
        `select 'T' as tenant, 'S' as store, 'e-' || range as event_id, '2024-01-01T00:00:00Z' as occurred_at, range as n
      from range(${rows})`,
        path,
        options,
      );
    await write(10);
    const file = await importer.open(path, format);
    expect(file).toMatchObject({ faults: [], rows: 10, shape: expect.stringMatching(/^keys /) });
    const { stage } = importer;
    await stage.begin();
    const fill = () => stage.fill([file.stretch(0, { from: 0, until: 10 })]);
    expect(await fill()).toEqual(new Map([['T', [{ store: 'S', days: ['2024-01-01'] }]]]));
    await write(11);
    await expect(fill()).rejects.toMatchObject({ code: 'file_changed' });
  },
);

test.each(['parquet', 'csv'] as const)(
  'rows of a part of a file of %s are staged with their numbers',
  async (format) => {
    const path = pathOf(`parts.${format}`);
    const rows = `select 'T' as tenant, 'S' as store, 'e-' || range as event_id, '2024-01-01T00:00:00Z' as occurred_at, range as n
    from range(5000)`;
    await copy(rows, path, `format ${format}`);
    const file = await importer.open(path, format);
    const { stage } = importer;
    for (const [from, until] of [
      [0, 3000],
      [3000, 4999],
      [4999, 5000],
    ] as const) {
      await stage.begin();
      await stage.fill([file.stretch(0, { from, until })]);
      const weighed = await stage.weigh([]);
      expect([...weighed]).toMatchObject([['T', [{ store: 'S', count: until - from }]]]);
      expect(await stage.take([])).toEqual({ taken: [], knownRows: 0 });
      const { text } = await textOf(file.records(0, 0));
      const lines = text.trimEnd().split('\n');
      const ids = lines.map((one) => (one === '' ? null : JSON.parse(one).event_id));
      const wanted = Array.from({ length: until }, (_, n) => (n < from ? null : `e-${n}`));
      expect(ids).toEqual(wanted);
    }
  },
);

test.each([
  ['a,b', 'CSV Error on Line: 4002 Original Line: a,b Expected Number of Columns: 4 Found: 2'],
  ['T,S,"e"x,2024-01-01T00:00:00Z', 'CSV Error on Line: 4002'],
  ['T,S,\u00ff,2024-01-01T00:00:00Z', 'not utf-8'],
])('a row of CSV that is %s ends the reading, and says where', async (row, reason) => {
  const rows = 'T,S,e,2024-01-01T00:00:00Z\n'.repeat(4000);
  const text = `tenant,store,event_id,occurred_at\n${rows}${row}\n${rows}`;
  await writeFile(pathOf('a.csv'), Buffer.from(text, 'latin1'));
  const file = await importer.open(pathOf('a.csv'), 'csv');
  await expect(textOf(file.records(0))).rejects.toMatchObject({
    code: 'file_unreadable',
    detail: expect.stringContaining(reason),
  });
});

test('a file of one line that is too long is refused, and not held in memory', async () => {
  await writeFile(pathOf('long.ndjson'), `${line(0)}${'x'.repeat(17 * 2 ** 20)}`);
  const file = await importer.open(pathOf('long.ndjson'), 'ndjson');
  await expect(textOf(file.records(0))).rejects.toMatchObject({
    code: 'file_unreadable',
    detail: expect.stringContaining('line 2 has more than 16 MiB'),
  });
});

/** An importer without the memory for many wide rows, and a file of a thousand. */
async function openWide(memoryMiB: number) {
  const path = pathOf('wide.parquet');
  const wide = `select 'T' as tenant, 'S' as store, range as event_id, timestamptz '2001-01-01 00:00:00Z' as occurred_at,
    repeat(md5(range::varchar), 1000) as wide from range(1000)`;
  await copy(wide, path, 'format parquet');
  const mapping = { columns: {}, values: {}, skipped: [], timeUnit: undefined };
  const { signal } = new AbortController();
  const narrow = await openImporter({
    mapping,
    delimiter: ',',
    signal,
    memoryBytes: memoryMiB * 2 ** 20,
  });
  return { narrow, file: await narrow.open(path, 'parquet') };
}

function expectRows({ text, rows }: { text: string; rows: number }, from: number): void {
  expect(rows).toBe(1000 - from);
  const lines = text.trimEnd().split('\n');
  const ids = lines.map((one) => Number(JSON.parse(one).event_id));
  expect(ids).toEqual(Array.from({ length: 1000 - from }, (_, n) => n + from));
}

test('rows too wide to be read together are read a few at a time', async () => {
  const { narrow, file } = await openWide(120);
  expectRows(await textOf(file.records(7)), 7);
  await narrow.close();
});

test('rows too wide to be staged are kept, and read a few at a time', async () => {
  const { narrow, file } = await openWide(64);
  const { stage } = narrow;
  await stage.begin();
  const staged = await stage.fill([file.stretch(5, { from: 7, until: 1000 })]);
  const free = [...staged].map(([tenant, leaves]) => ({ tenant, leaves }));
  await stage.weigh(free);
  for (const { tenant } of (await stage.take([])).taken) {
    const path = await stage.write(tenant);
    expect(path).toBeNull();
    await stage.keep(tenant);
  }
  expect(await stage.countRest(5)).toBe(993);
  expectRows(await textOf(file.records(7, 5)), 7);
  await narrow.close();
});

test('columns become numbers to the letter where it is asked for, and what is none breaks its line', async () => {
  const signal = new AbortController().signal;
  const open = async (numbers: string[], name: string) => {
    const mapping = { columns: {}, values: {}, skipped: [], timeUnit: undefined, numbers };
    const own = await openImporter({ mapping, delimiter: ',', signal });
    const file = await own.open(pathOf(name), name === 'n.csv' ? 'csv' : 'ndjson');
    const { text } = file.faults.length > 0 ? { text: '' } : await textOf(file.records(0));
    await own.close();
    return { ...file, enrichments: text.match(/(?<="enrichment":)\{.*\}(?=\}\n)/g) };
  };
  const cells = [
    '0.50',
    '-1e400',
    '',
    '"1,2"',
    '01',
    '" 5"',
    '"""5"""',
    '"5},{"',
    '9007199254740993',
  ];
  const rows = cells.map((cell) => `T,S,1,2024-01-01,${cell},7,x`);
  const head = 'tenant,store,event_id,occurred_at,n,m,x';
  await writeFile(pathOf('n.csv'), [head, ...rows].join('\n'));
  const csv = await open(['n'], 'n.csv');
  expect(csv).toMatchObject({ shape: null, numberLike: ['m'] });
  const rest = '"m":"7","x":"x"}';
  expect(csv.enrichments).toEqual([
    ...[`{"n":0.50,${rest}`, `{"n":-1e400,${rest}`, `{${rest}`],
    ...['1,2', '01', ' 5', '\\"5\\"', '5},{'].map((text) => `{"n":"${text}" is no number,${rest}`),
    `{"n":9007199254740993,${rest}`,
  ]);
  const values = ['"0.50"', '5e1', 'null', 'true', '[1]'].map((n) =>
    line(1).replace('"enrichment":{}', `"n":${n}`),
  );
  await writeFile(pathOf('n.ndjson'), values.join(''));
  expect((await open(['n'], 'n.ndjson')).enrichments).toEqual([
    ...[
      '{"n":0.50}',
      '{"n":5e1}',
      '{"n":null}',
      '{"n":true is no number}',
      '{"n":[1] is no number}',
    ],
  ]);
  expect([(await open(['gone'], 'n.csv')).faults, (await open(['store'], 'n.csv')).faults]).toEqual(
    [
      ['--number gone: there is no such column'],
      ['--number store: it becomes no key of the enrichment'],
    ],
  );
});
