import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { runs } from '../../test/runs.ts';
import { useTestService } from '../../test/service.ts';
import { expectExactCounters } from './ingest/testing/exact-counters.ts';
import { createRecords, postBatch, postStream } from './ingest/testing/post-records.ts';

const service = useTestService({ SVC_INGEST_MAX_RECORDS: '50' });

const record = createRecords();
const batch = (...records: unknown[]) => postBatch(service, ...records);
const postJson = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  postStream(service, body, { 'content-type': 'application/json', ...headers });
const stream = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  postStream(service, body, headers);

async function totalCount(): Promise<number> {
  const rows = await service.db.query<{ count: number }>(
    sql`select count(*) as count from enrichment_records`,
  );
  return rows[0]?.count ?? -1;
}

test.each([
  ['an unknown field', { wrong: 1 }, 'field_unknown'],
  ['a time far ahead', { occurred_at: '2999-01-01T00:00:00Z' }, 'field_invalid'],
  ['257 KiB of enrichment', { enrichment: { a: 'x'.repeat(257 * 1024) } }, 'enrichment_too_large'],
])('rejects a record with %s and stores its neighbours', async (_name, fault, code) => {
  const before = await totalCount();
  const answer = await batch(record(), record(fault), record());
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({ accepted: 2, duplicates: 0, rejected_count: 1 });
  expect(answer.json.rejected).toEqual([{ index: 1, code, message: expect.any(String) }]);
  expect(await totalCount()).toBe(before + 2);
});

test.each([
  ['nothing', '', 'json_invalid'],
  ['no record', '{"records":[]}', 'request_invalid'],
  ['an unknown field', '{"records":[],"mode":"fast"}', 'request_invalid'],
  ['bytes that are not UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), 'json_invalid'],
])('answers 400 to an envelope of %s and stores nothing', async (_name, body, code) => {
  const before = await totalCount();
  const answer = await postJson(body);
  expect(answer.json).toMatchObject({ status: 400, code });
  expect(await totalCount()).toBe(before);
});

test.each(['application/json', 'application/x-ndjson'])(
  'answers 400 to gzip that is not said to be gzip, as %s, and stores nothing',
  async (type) => {
    const before = await totalCount();
    const body = gzipSync(JSON.stringify(record()));
    const answer = await stream(body, { 'content-type': type });
    expect(answer.json).toMatchObject({
      status: 400,
      code: 'body_encoding_invalid',
      detail: expect.stringMatching(/^The body is gzip.* ends in \.gz\.$/),
    });
    const plain = await stream('{}', { 'content-type': type, 'content-encoding': 'gzip' });
    expect(plain.json).toMatchObject({
      status: 400,
      code: 'body_encoding_invalid',
      detail: expect.stringContaining('not compressed as its Content-Encoding says'),
    });
    expect(await totalCount()).toBe(before);
  },
);

test('a batch of more records than allowed is refused whole', async () => {
  const before = await totalCount();
  const answer = await batch(...Array.from({ length: 51 }, () => record()));
  expect(answer.status).toBe(400);
  expect(answer.json.errors[0].path).toBe('/records');
  expect(await totalCount()).toBe(before);
});

test('a fault after valid records in the envelope stores none of them', async () => {
  const before = await totalCount();
  const body = `{"records":[${JSON.stringify(record())},${JSON.stringify(record())}`;
  expect((await postJson(body)).status).toBe(400);
  expect(await totalCount()).toBe(before);
});

test('a body of 33 MiB answers 413, and so does a small gzip body that unpacks to it', async () => {
  const body = Buffer.alloc(33 * 2 ** 20, ' ');
  const plain = await postJson(body);
  expect(plain.json).toMatchObject({ status: 413, code: 'body_too_large' });
  expect((await postJson(gzipSync(body), { 'content-encoding': 'gzip' })).status).toBe(413);
});

test.each([
  ['text/csv', 'identity', 'media_type_unsupported'],
  ['application/x-ndjson', 'br', 'content_encoding_unsupported'],
])('answers 415 to %s coded as %s', async (type, coding, code) => {
  const answer = await stream('x', { 'content-type': type, 'content-encoding': coding });
  expect(answer.status).toBe(415);
  expect(answer.json.code).toBe(code);
});

test('a gzip body is taken, a cut one answers 400', async () => {
  const lines = `${JSON.stringify(record())}\n${JSON.stringify(record())}\n`;
  const gzip = { 'content-encoding': 'gzip' };
  expect((await stream(gzipSync(lines), gzip)).json).toMatchObject({ accepted: 2 });
  const before = await totalCount();
  const cut = gzipSync(JSON.stringify(record())).subarray(0, -6);
  expect((await stream(cut, gzip)).json).toMatchObject({
    status: 400,
    code: 'body_encoding_invalid',
  });
  expect(await totalCount()).toBe(before);
});

test.each([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl; charset=utf-8',
  'application/x-jsonl',
  'application/jsonlines',
  'application/x-jsonlines',
])('%s is a record a line, also behind a byte order mark', async (type) => {
  const lines = `\ufeff${JSON.stringify(record())}\n${JSON.stringify(record())}\n`;
  const answer = await stream(lines, { 'content-type': type });
  expect(answer.json).toMatchObject({ accepted: 2, rejected_count: 0 });
});

test('a JSON batch may begin with a byte order mark', async () => {
  const answer = await postJson(`\ufeff${JSON.stringify({ records: [record()] })}`);
  expect(answer.json).toMatchObject({ accepted: 1 });
});

test('a day beyond the range of days is told as such', async () => {
  const query = 'tenant=T1&from=2020-01-01&to=9999-12-31';
  const answer = await service.call('GET', `/enrichment/records?${query}`);
  expect(answer.status).toBe(400);
  expect(answer.json.detail).toContain('to: must be a date such as 2026-03-05, up to 2999-12-31');
});

test('the same identity twice in one request: same content counts once, other content is a conflict', async () => {
  const one = record({ tenant: 'twice' });
  const answer = await batch(one, one, { ...one, kind: 'other' }, { ...one, kind: '' });
  expect(answer.json).toMatchObject({ accepted: 1, duplicates: 1, rejected_count: 2 });
  expect(answer.json.rejected.map((reject: { index: number }) => reject.index)).toEqual([2, 3]);
});

test('keeps the enrichment and the confidence to the letter', async () => {
  const enrichment =
    '{"big":12345678901234567890,"one":1.0,"exp":1E+2,"z":1,"a":2,"text":"\\u00e9 \\/ \\ud83d\\ude00 é"}';
  const body = `{"records":[{"tenant":"letter","store":"s","event_id":"e","occurred_at":"2020-01-01T01:00:00.5+01:00",
    "confidence": 0.10, "enrichment": ${enrichment.replaceAll(':', ' : ').replaceAll(',', ' ,\n')} }]}`;
  await postJson(body);
  const page = await service.call('GET', '/enrichment/records?tenant=letter');
  expect(page.text).toContain(`"enrichment":${enrichment}`);
  expect(page.text).toContain('"confidence":0.10,');
  expect(page.json.data[0].occurred_at).toBe('2020-01-01T00:00:00.500000Z');
});

test('two hundred writers at once count exactly', async () => {
  const shared = record({ tenant: 'race' });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      batch(
        shared,
        record({ tenant: 'race', store: `s${n % 7}` }),
        record({ tenant: `race${n % 3}` }),
      ),
    ),
  );
  const sum = (field: string) => answers.reduce((total, { json }) => total + json[field], 0);
  expect(sum('accepted')).toBe(401);
  expect(sum('duplicates')).toBe(199);
  await expectExactCounters(service.db);
});

test('any mix of records leaves counters that equal what counting gives, in Node and in PostgreSQL', async () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  const name = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((value) => !/[\u0000-\u001f\u007f-\u009f/]/.test(value) && value.isWellFormed());
  const label = fc.option(
    text.filter((value) => !/[\u0000\u0001\u001f]/.test(value) && value.isWellFormed()),
  );
  const arbitrary = fc.record({
    tenant: name,
    store: name,
    event_id: name,
    occurred_at: fc
      .date({ min: new Date('1970-01-01'), max: new Date('2026-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString()),
    kind: label,
    source: label,
    model: label,
    enrichment: fc.dictionary(
      name,
      fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), name),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(arbitrary, { minLength: 1, maxLength: 20 }), async (records) => {
      const answer = await batch(...records);
      expect(answer.status).toBe(200);
      const { accepted, duplicates, rejected_count } = answer.json;
      expect(accepted + duplicates + rejected_count).toBe(records.length);
    }),
    { numRuns: runs(75) },
  );
  await expectExactCounters(service.db);
});
