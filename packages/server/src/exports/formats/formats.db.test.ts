import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { storeRecords } from '../../records/ingest/testing/post-records.ts';
import { openExport } from '../testing/open-export.ts';
import { readParquet } from './testing/read-file.ts';
import { unpackFrame } from './testing/zstd.ts';

// Every format as a stream over HTTP.

const records = Array.from({ length: 40 }, (_, n) => ({
  tenant: 'T',
  store: n % 2 === 0 ? 'A' : 'B',
  event_id: `e${n}`,
  occurred_at: `2001-03-${String((n % 9) + 1).padStart(2, '0')}T00:00:00.000000Z`,
  kind: n < 9 ? 'early' : 'late',
  enrichment: { n },
}));

const service = useTestService();
beforeAll(() => storeRecords(service, records));

async function download(format: string, body: object, headers: Record<string, string> = {}) {
  const response = await openExport(service, body, { format, headers });
  const bytes = await buffer(response);
  return { status: response.statusCode, headers: response.headers, response, bytes };
}

function sha256(bytes: Buffer): string {
  return `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
}

test.each([
  ['ndjson', { tenant: 'T', header: true }, 400, '/header'],
  ['ndjson', { tenant: 'T', compression: 'brotli' }, 400, '/compression'],
  ['ndjson', {}, 400, '/tenant'],
  ['parquet', { tenant: 'T', compression: 'gzip' }, 400, '/compression'],
  ['parquet', { tenant: 'T', profile: 'spreadsheet' }, 400, '/profile'],
  ['parquet', { tenant: 'T', split: 'train' }, 400, '/split'],
])('%s of %j is answered with %s', async (format, body, status, path) => {
  const answer = await service.call('POST', `/exports/${format}`, { body });
  expect(answer.status).toBe(status);
  expect(answer.json.errors.map((fault: { path: string }) => fault.path)).toContain(path);
});

test('NDJSON is streamed, counted, named and proved; gzip is a coding of it', async () => {
  const plain = await download('ndjson', { tenant: 'T', from: '2001-03-01', to: '2001-03-31' });
  expect(plain.status).toBe(200);
  expect(plain.headers).toMatchObject({
    'content-type': 'application/x-ndjson',
    'content-disposition': 'attachment; filename="T_2001-03-01_2001-03-31.ndjson"',
    'x-record-count': '40',
  });
  expect(plain.response.trailers['repr-digest']).toBe(sha256(plain.bytes));
  const lines = plain.bytes.toString().split('\n').slice(0, -1);
  expect(lines.map((line) => JSON.parse(line) as object)).toHaveLength(40);
  expect(new Set(lines)).toEqual(new Set(records.map((record) => JSON.stringify(record))));
  const coded = await download('ndjson', { tenant: 'T' }, { 'accept-encoding': 'gzip' });
  expect(coded.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(coded.bytes).equals(plain.bytes)).toBe(true);
  expect(coded.response.trailers['repr-digest']).toBe(sha256(plain.bytes));
});

test('Parquet is one file, which is not coded again', async () => {
  const file = await download(
    'parquet',
    { tenant: 'T', kind: 'early' },
    { 'accept-encoding': 'gzip' },
  );
  expect(file.headers).toMatchObject({
    'content-type': 'application/vnd.apache.parquet',
    'content-disposition': 'attachment; filename="T_early.parquet"',
    'x-record-count': '9',
  });
  expect(file.headers['content-encoding']).toBeUndefined();
  expect(file.response.trailers['repr-digest']).toBe(sha256(file.bytes));
  const rows = await readParquet(file.bytes);
  expect(new Set(rows.map((row) => row.event_id))).toEqual(
    new Set(records.slice(0, 9).map(({ event_id }) => event_id)),
  );
});

test.each([
  ['gzip', 'application/gzip', 'gz', gunzipSync],
  ['zstd', 'application/zstd', 'zst', (bytes: Buffer) => unpackFrames(bytes)],
] as const)(
  'a file of %s says so, and is not coded again',
  async (compression, type, ending, unpack) => {
    for (const format of ['csv', 'ndjson']) {
      const plain = await download(format, { tenant: 'T' });
      const packed = await download(
        format,
        { tenant: 'T', compression },
        { 'accept-encoding': 'gzip' },
      );
      expect(packed.headers).toMatchObject({
        'content-type': type,
        'content-disposition': `attachment; filename="T.${format}.${ending}"`,
      });
      expect(packed.headers['content-encoding']).toBeUndefined();
      expect(packed.response.trailers['repr-digest']).toBe(sha256(packed.bytes));
      expect(unpack(packed.bytes).toString()).toBe(plain.bytes.toString());
    }
  },
);

/** Head and body are frames of their own; the library unpacks one at a time. */
function unpackFrames(bytes: Buffer): Buffer {
  const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
  const starts: number[] = [];
  for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 1)) starts.push(at);
  return Buffer.concat(starts.map((start, n) => unpackFrame(bytes.subarray(start, starts[n + 1]))));
}

test.each(['csv', 'ndjson', 'parquet'])('a link downloads %s', async (format) => {
  const made = await service.call('POST', `/exports/${format}`, {
    body: { tenant: 'T', delivery: 'link', columns: ['event_id', 'bytes'] },
  });
  expect([made.status, made.json.row_count]).toEqual([201, 40]);
  const got = await fetch(service.url + made.json.url);
  const bytes = Buffer.from(await got.arrayBuffer());
  expect(got.headers.get('content-disposition')).toBe(`attachment; filename="T.${format}"`);
  const direct = await download(format, { tenant: 'T', columns: ['event_id', 'bytes'] });
  expect(bytes.equals(direct.bytes)).toBe(true);
});

test('a version is a file of its own, and its splits are all of it', async () => {
  const window = { tenant: 'T', dataset: 'training' };
  const tag = { ...window, from: '2001-03-02', to: '2001-03-05' };
  expect((await service.call('POST', '/enrichment/tags', { body: tag })).status).toBe(201);
  const shares = { train: 50, validation: 25, test: 25 };
  const version = await service.call('POST', '/enrichment/dataset-versions', {
    body: { ...window, name: 'v1', shares },
  });
  expect(version.status, version.text).toBe(201);
  const body = { tenant: 'T', version: version.json.id };
  const { headers, bytes } = await download('parquet', body);
  expect(headers['content-disposition']).toContain('T_v1.parquet');
  const rows = await readParquet(bytes);
  const inside = records.filter(({ occurred_at: at }) => at >= '2001-03-02' && at < '2001-03-06');
  expect(headers['x-record-count']).toBe(String(inside.length));
  expect(new Set(rows.map((row) => row.event_id))).toEqual(
    new Set(inside.map(({ event_id }) => event_id)),
  );
  for (const split of ['train', 'validation', 'test']) {
    const own = await download('ndjson', { ...body, split });
    expect(own.bytes.toString().split('\n')).toHaveLength(
      rows.filter((row) => row.split === split).length + 1,
    );
  }
});
