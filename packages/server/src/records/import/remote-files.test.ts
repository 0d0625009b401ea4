import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeEach, expect, test } from 'vitest';
import { useFolder } from '../../../test/folder.ts';
import { startS3, type TestS3 } from '../../../test/s3.ts';
import { use } from '../../../test/use.ts';
import { createS3Store } from '../../platform/objects/s3.ts';
import { type Importer, openImporter } from './open-file.ts';

const s3: TestS3 = use(startS3, (made) => made.close());
const folder = useFolder('once');
const importer: Importer = use(
  () =>
    openImporter({
      mapping: {
        columns: {},
        values: { tenant: 'T', store: 'S' },
        skipped: [],
        timeUnit: undefined,
      },
      delimiter: ',',
      signal: new AbortController().signal,
    }),
  (made) => made.close(),
  'each',
);
beforeEach(() => {
  s3.clear();
  s3.behave(() => 'pass');
});

/** Puts a file below the prefix of the test. */
async function put(key: string, path: string): Promise<void> {
  const store = await createS3Store(s3.urlOf('history'));
  await store.put(key, path);
  await store.close();
}

async function putText(key: string, text: string): Promise<void> {
  const path = join(folder.path, 'text');
  await writeFile(path, text);
  await put(key, path);
}

/** The URL of what is below the prefix, with the query that says how to reach it. */
const urlOf = (pattern: string) => {
  const [place = '', query = ''] = s3.urlOf('history').split('?');
  return `${place}/${pattern}?${query}`;
};

const line = (n: number) => `{"event_id":"${n}","occurred_at":"2024-01-01T00:00:00Z"}\n`;

async function linesOf(url: string, format: 'parquet' | 'csv' | 'ndjson'): Promise<string[]> {
  let text = '';
  const file = await importer.open(url, format);
  expect(file.faults).toEqual([]);
  for await (const piece of file.records(0)) text += piece.text;
  return text.trimEnd().split('\n');
}

test('files are found by folder, by pattern and by name', async () => {
  for (const key of ['a/1.ndjson', 'a/b c+é/2.ndjson', 'a/3.txt', 'ab/4.ndjson']) {
    await putText(key, line(1));
  }
  const found = async (pattern: string) =>
    (await importer.find(urlOf(pattern))).map((url) =>
      decodeURIComponent(url.replace(/\?.*/, '').replace(/^.*\/history\//, '')),
    );
  expect(await found('a')).toEqual(['a/1.ndjson', 'a/3.txt', 'a/b c+é/2.ndjson']);
  expect(await found('a/')).toEqual(await found('a'));
  expect(await found('a/*.ndjson')).toEqual(['a/1.ndjson']);
  expect(await found('a*/*.ndjson')).toEqual(['a/1.ndjson', 'ab/4.ndjson']);
  expect(await found('a/**/*.ndjson')).toEqual(['a/1.ndjson', 'a/b c+é/2.ndjson']);
  expect(await found('**')).toHaveLength(4);
  expect(await found('a/[!12].*')).toEqual(['a/3.txt']);
  expect(await found('a/1.ndjson')).toEqual(['a/1.ndjson']);
  expect(await found('a/1')).toEqual([]);
  expect(await found('none')).toEqual([]);
  const [spaced = ''] = await importer.find(urlOf('a/b c+é/*'));
  expect(await linesOf(spaced, 'ndjson')).toHaveLength(1);
});

test('of a large file of Parquet only the end is read for its columns, and its rows from a copy', async () => {
  const path = join(folder.path, 'large.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`copy (select range as event_id, timestamp '2024-01-01' as occurred_at,
    random() as noise from range(200000)) to '${path}'`);
  connection.closeSync();
  instance.closeSync();
  await put('large.parquet', path);
  const [url = ''] = await importer.find(urlOf('*.parquet'));
  s3.clear();
  const file = await importer.open(url, 'parquet');
  expect(file).toMatchObject({ rows: 200_000, faults: [] });
  const reads = s3.requests.filter(({ path: asked }) => asked.includes('large.parquet'));
  expect(reads.map(({ headers }) => headers.range)).toEqual([
    expect.stringMatching(/^bytes=\d{6,}-\d+$/),
  ]);
  const lines = await linesOf(url, 'parquet');
  expect(lines).toHaveLength(200_000);
  expect(lines.at(-1)).toContain('"event_id":"199999"');
});

test('a file that was written anew since it was looked at is told', async () => {
  await putText('changing.csv', 'event_id,occurred_at\n1,2024-01-01T00:00:00Z\n');
  const [url = ''] = await importer.find(urlOf('changing.csv'));
  expect(await linesOf(url, 'csv')).toHaveLength(1);
  const file = await importer.open(url, 'csv');
  await putText(
    'changing.csv',
    'event_id,occurred_at\n1,2024-01-01T00:00:00Z\n2,2024-01-01T00:00:00Z\n',
  );
  await expect(file.records(0).next()).rejects.toMatchObject({ code: 'file_changed' });
});

test.each([
  [() => urlOf('100%/x.csv'), 'usage_invalid', 'write % as %25: history/100%/x.csv'],
  [() => 's3://b?endpoint=x', 'usage_invalid', 'The URL of files in S3 names no bucket'],
  [() => urlOf('*').replace('endpoint=', 'end='), 'usage_invalid', 'has the unknown parameter end'],
  [() => urlOf('*').replace(/s3:\/\/[^/]+/, 's3://nobody'), 'file_unreadable', 'cannot be read'],
])('what cannot be reached is told: %s', async (url, code, detail) => {
  await expect(importer.find(url())).rejects.toMatchObject({
    code,
    detail: expect.stringMatching(detail),
  });
});
