import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { storeRecords } from '../../records/ingest/testing/post-records.ts';
import { openExport } from '../testing/open-export.ts';

const service = useTestService();
beforeAll(async () => {
  const records = [
    {
      event_id: 'e1',
      kind: 'a,"b"',
      source: '',
      confidence: 0.5,
      enrichment: { a: { b: [1, 'x'] }, f: '=1+1' },
    },
    { event_id: 'e2', kind: '=cmd', model: '-5', enrichment: { a: null, f: -5 } },
    { event_id: 'e3', kind: '＝wide', source: 'line\r\nbreak', enrichment: { f: { g: 1 } } },
  ].map((record) => ({
    tenant: 'T',
    store: 'S',
    occurred_at: '2001-03-31T23:59:59.5Z',
    ...record,
  }));
  await storeRecords(service, records);
});

async function exportCsv(body: object, headers: Record<string, string> = {}) {
  const response = await openExport(service, body, { headers });
  return { response, bytes: await buffer(response) };
}

const recordedAt = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/;

test('the machine profile quotes text, never numbers and times, and writes NULL as nothing', async () => {
  const { response, bytes } = await exportCsv({ tenant: 'T' });
  expect(response.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'x-record-count': '3',
    'content-disposition': 'attachment; filename="T.csv"',
  });
  const text = bytes
    .toString()
    .replaceAll(new RegExp(`(?<=\\.500000Z,)${recordedAt.source}`, 'g'), 'NOW');
  const sizes = [...text.matchAll(/,(\d+),,"/g)].map((match) => match[1]);
  expect(text).toBe(
    [
      'tenant,store,month,event_id,occurred_at,recorded_at,kind,source,model,confidence,bytes,datasets,enrichment',
      `"T","S",2001-03,"e1",2001-03-31T23:59:59.500000Z,NOW,"a,""b""","",,0.5,${sizes[0]},,"{""a"":{""b"":[1,""x""]},""f"":""=1+1""}"`,
      `"T","S",2001-03,"e2",2001-03-31T23:59:59.500000Z,NOW,"=cmd",,"-5",,${sizes[1]},,"{""a"":null,""f"":-5}"`,
      `"T","S",2001-03,"e3",2001-03-31T23:59:59.500000Z,NOW,"＝wide","line\r\nbreak",,,${sizes[2]},,"{""f"":{""g"":1}}"`,
      '',
    ].join('\n'),
  );
});

test('the trailer holds the SHA-256 of the CSV, and gzip changes neither', async () => {
  const plain = await exportCsv({ tenant: 'T' });
  const coded = await exportCsv({ tenant: 'T' }, { 'accept-encoding': 'gzip' });
  const digest = `sha-256=:${createHash('sha256').update(plain.bytes).digest('base64')}:`;
  expect(plain.response.trailers['repr-digest']).toBe(digest);
  expect(coded.response.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(coded.bytes).equals(plain.bytes)).toBe(true);
  expect(coded.response.trailers['repr-digest']).toBe(digest);
});

test.each([
  ['gzip;q=0', undefined],
  ['identity', undefined],
  ['br, gzip;q=0.5', 'gzip'],
  ['*', 'gzip'],
])('Accept-Encoding %j is answered with %s', async (accept, coding) => {
  const { response } = await exportCsv({ tenant: 'T' }, { 'accept-encoding': accept });
  expect(response.headers['content-encoding']).toBe(coding);
});

test('the spreadsheet profile guards formulas, spares numbers, and has BOM and CRLF', async () => {
  const { bytes } = await exportCsv({
    tenant: 'T',
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
  const columns = [
    'enrichment.a.b.1',
    'event_id',
    'enrichment.a.b.0',
    'enrichment.a',
    'enrichment.no.way',
  ];
  const { bytes } = await exportCsv({ tenant: 'T', columns });
  expect(bytes.toString()).toBe(
    `${columns.join(',')}\n"x","e1",1,"{""b"":[1,""x""]}",\n,"e2",,,\n,"e3",,,\n`,
  );
});

test('no rows still have a header, and header false leaves it out', async () => {
  const none = await exportCsv({ tenant: 'nobody', columns: ['tenant', 'bytes'] });
  expect(none.bytes.toString()).toBe('tenant,bytes\n');
  expect(none.response.headers['x-record-count']).toBe('0');
  const bare = await exportCsv({ tenant: 'T', columns: ['event_id'], header: false });
  expect(bare.bytes.toString()).toBe('"e1"\n"e2"\n"e3"\n');
  const sheet = await exportCsv({
    tenant: 'T',
    columns: ['event_id'],
    header: false,
    profile: 'spreadsheet',
  });
  expect(sheet.bytes.toString()).toBe('\ufeffe1\r\ne2\r\ne3\r\n');
});

test('kind and days narrow the slice, and the count follows', async () => {
  const kind = await exportCsv({ tenant: 'T', kind: '=cmd', columns: ['event_id'] });
  expect(kind.response.headers['x-record-count']).toBe('1');
  expect(kind.bytes.toString()).toBe('event_id\n"e2"\n');
  const days = await exportCsv({
    tenant: 'T',
    from: '2001-03-31',
    to: '2001-03-31',
    columns: ['event_id'],
  });
  expect(days.response.headers['x-record-count']).toBe('3');
  expect(days.response.headers['content-disposition']).toContain('T_2001-03-31_2001-03-31.csv');
  const after = await exportCsv({ tenant: 'T', month: '2001-04' });
  expect(after.response.headers['x-record-count']).toBe('0');
});

test.each([
  [{}, '/tenant'],
  [{ tenant: 'T', columns: [] }, '/columns'],
  [{ tenant: 'T', columns: ['nothing'] }, '/columns/0'],
  [{ tenant: 'T', columns: ['enrichment.'] }, '/columns/0'],
  [{ tenant: 'T', columns: ['tenant', 'tenant'] }, '/columns'],
  [{ tenant: 'T', profile: 'excel' }, '/profile'],
  [{ tenant: 'T', from: '2001-01-02', to: '2001-01-01' }, '/from'],
  [{ tenant: 'T', month: '2026-13' }, '/month'],
  [{ tenant: 'T', header: 'yes' }, '/header'],
  [{ tenant: 5 }, '/tenant'],
  [{ tenant: 'T', limit: 5 }, '/limit'],
])('answers 400 to %j', async (body, path) => {
  const answer = await service.call('POST', '/exports/csv', { body });
  expect(answer.status).toBe(400);
  expect(answer.json.errors.map((fault: { path: string }) => fault.path)).toContain(path);
});
