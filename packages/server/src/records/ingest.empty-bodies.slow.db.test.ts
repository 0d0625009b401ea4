import { gzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { describe, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { createRecords, postStream } from './ingest/testing/post-records.ts';

const service = useTestService({ SVC_INGEST_MAX_RECORDS: '50' });

const record = createRecords();
const stream = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  postStream(service, body, headers);
const postJson = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  stream(body, { 'content-type': 'application/json', ...headers });

const countRecords = () => service.db.query(sql`select count(*) from enrichment_records`);

describe('a body that holds next to nothing', () => {
  const mebi = 2 ** 20;
  const one = () => `${JSON.stringify(record())}\n`;
  const large = () => JSON.stringify(record({ enrichment: 'y'.repeat(250_000) }));
  const padded = (spaces: number) => `${one().slice(0, -2)}${' '.repeat(spaces)}}\n`;

  const mostlyEmpty: readonly [string, () => string][] = [
    ['lines of spaces', () => `${' '.repeat(1000)}\r\n`.repeat(20_000)],
    ['records within spaces', () => padded(500_000).repeat(40)],
    ['lines of one letter', () => 'x\n'.repeat(1_200_000)],
    ['one record in a line of spaces', () => padded(20 * mebi)],
    ['a line without an end', () => 'x'.repeat(40 * mebi)],
    [
      'large records, the same again and again, among lines of one letter',
      () => `${large()}\n${'x\n'.repeat(900_000)}`.repeat(2),
    ],
  ];
  test.each(mostlyEmpty)('is refused half-way: %s', async (_name, text) => {
    const good = one().repeat(60);
    const answer = await stream(gzipSync(good + text()), { 'content-encoding': 'gzip' });
    expect(answer.json).toMatchObject({
      status: 413,
      code: 'body_mostly_empty',
      // Parts of 50 records: the other ten are in the one that was being filled.
      accepted: 1,
      duplicates: 49,
      next_line: 50,
    });
  });

  test('is refused when its lines are no text', async () => {
    const lines = `${'\xff'.repeat(99_999)}\n`.repeat(100);
    const noText = gzipSync(Buffer.from(lines, 'latin1'));
    const body = Buffer.concat([gzipSync(one()), ...Array.from({ length: 30 }, () => noText)]);
    const answer = await stream(body, { 'content-encoding': 'gzip' });
    expect([answer.status, answer.json.code]).toEqual([413, 'body_mostly_empty']);
  });

  test.each<[string, () => string]>([
    [
      'inside',
      () => `{"records":[${padded(400_000).trimEnd()}${`,${padded(400_000)}`.repeat(30)}]}`,
    ],
    ['inside one', () => `{"records":[${padded(20 * mebi)}]}`],
  ])('is refused whole when it is a batch with blanks %s its records', async (_name, text) => {
    const before = await countRecords();
    const answer = await postJson(gzipSync(text()), { 'content-encoding': 'gzip' });
    expect([answer.status, answer.json.code]).toEqual([413, 'body_mostly_empty']);
    expect(await countRecords()).toEqual(before);
  });

  test('is not one of lines with CR, empty lines between, fixed width or indentation', async () => {
    const lines = Array.from({ length: 1500 }, one);
    const airy = lines.map((line) => `${line.trimEnd().padEnd(4000)}\r\n\r\n\r\n`).join('');
    expect((await stream(gzipSync(airy), { 'content-encoding': 'gzip' })).json).toMatchObject({
      accepted: 1500,
      rejected_count: 0,
    });
    const deep = { a: [{ b: [[[[{ c: Array.from({ length: 3000 }, (_, n) => n) }]]]] }] };
    const records = Array.from({ length: 45 }, () => record({ enrichment: deep }));
    const answer = await postJson(JSON.stringify({ records }, null, 8));
    expect(answer.json).toMatchObject({ accepted: 45, rejected_count: 0 });
  });
});
