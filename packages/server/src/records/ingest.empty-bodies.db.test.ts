import zlib, { gzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { describe, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { createRecords, postStream } from './ingest/testing/post-records.ts';

// More such bodies, which take longer: ingest.empty-bodies.slow.db.test.ts.

const service = useTestService({ SVC_INGEST_MAX_RECORDS: '50' });

const record = createRecords();
const line = () => `${JSON.stringify(record())}\n`;
const blanks = 20 * 2 ** 20;
const post = (body: Uint8Array, coding: string, type = 'application/x-ndjson') =>
  postStream(service, body, { 'content-encoding': coding, 'content-type': type });

describe('a body that holds next to nothing', () => {
  test('is refused half-way', async () => {
    const body = gzipSync(line().repeat(60) + '\n'.repeat(blanks));
    expect((await post(body, 'gzip')).json).toMatchObject({
      status: 413,
      code: 'body_mostly_empty',
      // Parts of 50 records: the other ten are in the one that was being filled.
      accepted: 1,
      duplicates: 49,
      next_line: 50,
    });
  });

  // Node 20 makes no zstd: npm run test:nodes runs it on the others.
  const { zstdCompressSync: zstd } = zlib as { zstdCompressSync?: typeof gzipSync };
  const codings = [['gzip', gzipSync] as const, ...(zstd ? [['zstd', zstd] as const] : [])];
  test.each(codings)('is refused as %s', async (coding, compress) => {
    const answer = await post(compress(line() + '\n'.repeat(blanks)), coding);
    expect(answer.json).toMatchObject({ status: 413, code: 'body_mostly_empty' });
  });

  test('is refused whole when it is a batch', async () => {
    const count = () => service.db.query(sql`select count(*) from enrichment_records`);
    const before = await count();
    const body = gzipSync(`{"records":[${' '.repeat(blanks)}${line()}]}`);
    const answer = await post(body, 'gzip', 'application/json');
    expect([answer.status, answer.json.code]).toEqual([413, 'body_mostly_empty']);
    expect(await count()).toEqual(before);
  });
});
