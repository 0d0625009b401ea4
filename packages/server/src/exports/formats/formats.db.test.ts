import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import {
  numberedRecords,
  postStream,
  storeRecords,
} from '../../records/ingest/testing/post-records.ts';
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
beforeAll(async () => {
  await storeRecords(service, records);
  const labels = [
    { kind: 'a,"b"', source: '', confidence: 0.5, enrichment: { a: { b: [1, 'x'] }, f: '=1+1' } },
    { kind: '=cmd', model: '-5', enrichment: { a: null, f: -5 } },
    { kind: '＝wide', source: 'line\r\nbreak', enrichment: { f: { g: 1 } } },
  ];
  const few = numberedRecords('C', 3, (n) => ({
    event_id: `e${n + 1}`,
    occurred_at: '2001-03-31T23:59:59.5Z',
    ...labels[n],
  }));
  await storeRecords(service, few);
});

async function download(format: string, body: object, headers: Record<string, string> = {}) {
  const response = await openExport(service, body, { format, headers });
  const bytes = await buffer(response);
  return { status: response.statusCode, headers: response.headers, response, bytes };
}

const acceptsGzip = { 'accept-encoding': 'gzip' };

function sha256(bytes: Buffer): string {
  return `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
}

test.each([
  ['ndjson', { tenant: 'T', header: true }, '/header'],
  ['ndjson', { tenant: 'T', compression: 'brotli' }, '/compression'],
  ['ndjson', {}, '/tenant'],
  ['parquet', { tenant: 'T', compression: 'gzip' }, '/compression'],
  ['parquet', { tenant: 'T', profile: 'spreadsheet' }, '/profile'],
  ['parquet', { tenant: 'T', split: 'train' }, '/split'],
  ['csv', {}, '/tenant'],
  ['csv', { tenant: 'C', columns: [] }, '/columns'],
  ['csv', { tenant: 'C', columns: ['nothing'] }, '/columns/0'],
  ['csv', { tenant: 'C', columns: ['enrichment.'] }, '/columns/0'],
  ['csv', { tenant: 'C', columns: ['tenant', 'tenant'] }, '/columns'],
  ['csv', { tenant: 'C', profile: 'excel' }, '/profile'],
  ['csv', { tenant: 'C', from: '2001-01-02', to: '2001-01-01' }, '/from'],
  ['csv', { tenant: 'C', month: '2026-13' }, '/month'],
  ['csv', { tenant: 'C', header: 'yes' }, '/header'],
  ['csv', { tenant: 5 }, '/tenant'],
  ['csv', { tenant: 'C', limit: 5 }, '/limit'],
])('%s of %j is answered with 400 for %s', async (format, body, path) => {
  const answer = await service.call('POST', `/exports/${format}`, { body });
  expect(answer.status).toBe(400);
  expect(answer.json.errors.map((fault: { path: string }) => fault.path)).toContain(path);
});

test('NDJSON is streamed, counted and named, and is taken again as nothing but duplicates', async () => {
  const plain = await download('ndjson', { tenant: 'T', from: '2001-03-01', to: '2001-03-31' });
  expect(plain.status).toBe(200);
  expect(plain.headers).toMatchObject({
    'content-type': 'application/x-ndjson',
    'content-disposition': 'attachment; filename="T_2001-03-01_2001-03-31.ndjson"',
    'x-record-count': '40',
  });
  const lines = plain.bytes.toString().split('\n').slice(0, -1);
  expect(lines.map((line) => JSON.parse(line) as object)).toHaveLength(40);
  expect(new Set(lines)).toEqual(new Set(records.map((record) => JSON.stringify(record))));
  const again = await postStream(service, plain.bytes);
  expect(again.json).toMatchObject({ accepted: 0, duplicates: 40, rejected_count: 0 });
});

test('Parquet is one file, which is not coded again', async () => {
  const file = await download('parquet', { tenant: 'T', kind: 'early' }, acceptsGzip);
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
      const packed = await download(format, { tenant: 'T', compression }, acceptsGzip);
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

const recordedAt = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/;

test('the machine profile quotes text, never numbers and times, and writes NULL as nothing', async () => {
  const { response, bytes } = await download('csv', { tenant: 'C' });
  expect(response.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'x-record-count': '3',
    'content-disposition': 'attachment; filename="C.csv"',
  });
  const text = bytes
    .toString()
    .replaceAll(new RegExp(`(?<=\\.500000Z,)${recordedAt.source}`, 'g'), 'NOW');
  const sizes = [...text.matchAll(/,(\d+),,"/g)].map((match) => match[1]);
  expect(text).toBe(
    [
      'tenant,store,month,event_id,occurred_at,recorded_at,kind,source,model,confidence,bytes,datasets,enrichment',
      `"C","S",2001-03,"e1",2001-03-31T23:59:59.500000Z,NOW,"a,""b""","",,0.5,${sizes[0]},,"{""a"":{""b"":[1,""x""]},""f"":""=1+1""}"`,
      `"C","S",2001-03,"e2",2001-03-31T23:59:59.500000Z,NOW,"=cmd",,"-5",,${sizes[1]},,"{""a"":null,""f"":-5}"`,
      `"C","S",2001-03,"e3",2001-03-31T23:59:59.500000Z,NOW,"＝wide","line\r\nbreak",,,${sizes[2]},,"{""f"":{""g"":1}}"`,
      '',
    ].join('\n'),
  );
});

test.each(['csv', 'ndjson'])(
  'the trailer holds the SHA-256 of %s, and gzip changes neither',
  async (format) => {
    const plain = await download(format, { tenant: 'T' });
    const coded = await download(format, { tenant: 'T' }, acceptsGzip);
    expect(plain.response.trailers['repr-digest']).toBe(sha256(plain.bytes));
    expect(coded.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(coded.bytes).equals(plain.bytes)).toBe(true);
    expect(coded.response.trailers['repr-digest']).toBe(sha256(plain.bytes));
  },
);

test.each([
  ['gzip;q=0', undefined],
  ['identity', undefined],
  ['br, gzip;q=0.5', 'gzip'],
  ['*', 'gzip'],
])('Accept-Encoding %j is answered with %s', async (accept, coding) => {
  const { response } = await download('csv', { tenant: 'C' }, { 'accept-encoding': accept });
  expect(response.headers['content-encoding']).toBe(coding);
});

test('the spreadsheet profile guards formulas, spares numbers, and has BOM and CRLF', async () => {
  const { bytes } = await download('csv', {
    tenant: 'C',
    columns: ['event_id', 'kind', 'source', 'model', 'confidence', 'enrichment.f'],
    profile: 'spreadsheet',
  });
  expect(bytes.toString()).toBe(
    [
      '\ufeffevent_id,kind,source,model,confidence,enrichment.f',
      `e1,"a,""b""",,,0.5,'=1+1`,
      `e2,'=cmd,,-5,,-5`,
      `e3,'＝wide,"line\r\nbreak",,,"{""g"":1}"`,
      '',
    ].join('\r\n'),
  );
});

test('a field path picks a value to the letter, and nothing where there is none', async () => {
  const paths = ['enrichment.a.b.0', 'enrichment.a', 'enrichment.no.way'];
  const columns = ['enrichment.a.b.1', 'event_id', ...paths];
  const { bytes } = await download('csv', { tenant: 'C', columns });
  expect(bytes.toString()).toBe(
    `${columns.join(',')}\n"x","e1",1,"{""b"":[1,""x""]}",\n,"e2",,,\n,"e3",,,\n`,
  );
});

test('no rows still have a header, and header false leaves it out', async () => {
  const none = await download('csv', { tenant: 'nobody', columns: ['tenant', 'bytes'] });
  expect(none.bytes.toString()).toBe('tenant,bytes\n');
  expect(none.response.headers['x-record-count']).toBe('0');
  const bare = await download('csv', { tenant: 'C', columns: ['event_id'], header: false });
  expect(bare.bytes.toString()).toBe('"e1"\n"e2"\n"e3"\n');
  // A row of NULLs alone is an empty line.
  const nulls = await download('csv', { tenant: 'C', columns: ['confidence'] });
  expect(nulls.bytes.toString()).toBe('confidence\n0.5\n\n\n');
  const form = { columns: ['event_id'], header: false, profile: 'spreadsheet' };
  const sheet = await download('csv', { tenant: 'C', ...form });
  expect(sheet.bytes.toString()).toBe('\ufeffe1\r\ne2\r\ne3\r\n');
});

test('kind and days narrow the slice, and the count follows', async () => {
  const kind = await download('csv', { tenant: 'C', kind: '=cmd', columns: ['event_id'] });
  expect(kind.response.headers['x-record-count']).toBe('1');
  expect(kind.bytes.toString()).toBe('event_id\n"e2"\n');
  const days = await download('csv', { tenant: 'C', from: '2001-03-31', to: '2001-03-31' });
  expect(days.response.headers['x-record-count']).toBe('3');
  expect(days.response.headers['content-disposition']).toContain('C_2001-03-31_2001-03-31.csv');
  const after = await download('csv', { tenant: 'C', month: '2001-04' });
  expect(after.response.headers['x-record-count']).toBe('0');
});
