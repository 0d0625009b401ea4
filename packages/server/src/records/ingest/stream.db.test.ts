import { gzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { describe, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { createRecords, postStream } from './testing/post-records.ts';

const service = useTestService({ SVC_INGEST_MAX_RECORDS: '50' });

const record = createRecords();
const stream = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  postStream(service, body, headers);

describe('a stream that breaks off says what is stored, and where to go on', () => {
  const lineOf = (more: object) => JSON.stringify(record({ tenant: 'broken', ...more }));

  test('when its gzip is cut', async () => {
    const lines = Array.from({ length: 400 }, () => lineOf({ note: undefined }));
    lines[3] = 'no record';
    lines[4] = '';
    lines[7] = lines[6] ?? '';
    const text = `\ufeff${lines.join('\n')}\n`;
    // Incompressible, so that much of it comes before the cut.
    const whole = gzipSync(text, { level: 0 });
    const answer = await stream(whole.subarray(0, -200), { 'content-encoding': 'gzip' });
    expect([answer.status, answer.json.code]).toEqual([400, 'body_encoding_invalid']);
    const { accepted, duplicates, rejected, rejected_count, lines_read } = answer.json;
    const { next_line, next_byte } = answer.json;
    expect(rejected).toEqual([{ index: 3, code: 'json_invalid', message: expect.any(String) }]);
    expect([accepted, duplicates, rejected_count]).toEqual([next_line - 3, 1, 1]);
    expect(accepted % 50).toBe(49);
    expect(lines_read).toBeGreaterThan(next_line);
    expect(lines_read).toBeLessThan(400);
    const bytes = Buffer.from(text);
    expect(bytes.subarray(0, next_byte).toString().split('\n')).toHaveLength(next_line + 1);
    expect(answer.json.detail).toContain(`Of the ${lines_read} lines read, ${accepted} are stored`);
    const rest = await stream(bytes.subarray(next_byte));
    expect(rest.json).toMatchObject({
      accepted: 400 - next_line,
      duplicates: 0,
      rejected_count: 0,
    });
  });

  test('when the database refuses a part, also if a later one is stored', async () => {
    await service.db.pool.query(
      `alter table enrichment_records add constraint no_poison check (event_id <> 'poison') not valid`,
    );
    const lines = Array.from({ length: 210 }, () => lineOf({}));
    lines[120] = lineOf({ event_id: 'poison' });
    const answer = await stream(lines.join('\n'));
    await service.db.pool.query('alter table enrichment_records drop constraint no_poison');
    expect([answer.status, answer.json.code]).toEqual([500, 'internal_error']);
    expect(answer.json.next_line).toBe(100);
    const rest = await stream(lines.slice(100).join('\n'));
    expect(rest.json.accepted + answer.json.accepted).toBe(210);
    expect(rest.json.duplicates).toBe(answer.json.accepted - 100);
  });

  test('when its token is revoked, also while a batch arrives', async () => {
    const { id, token } = await service.makeToken({ preset: 'pipeline' });
    const lines = Array.from({ length: 500 }, () => `${lineOf({ tenant: 'revoked' })}\n`);
    const batch = `{"records":[${Array.from({ length: 3 }, () => lineOf({ tenant: 'revoked' })).join(',')}]}`;
    const stored = async () => {
      const rows = await service.db.query<{ count: number }>(
        sql`select count(*) as count from enrichment_records where tenant = 'revoked'`,
      );
      return rows[0]?.count ?? 0;
    };
    async function* half(first: string, second: string, condition: () => Promise<void>) {
      yield Buffer.from(first);
      await condition();
      yield Buffer.from(second);
    }
    const post = (type: string, body: AsyncIterable<Buffer>) =>
      fetch(`${service.url}/api/v1/enrichment/records`, {
        method: 'POST',
        body,
        duplex: 'half' as const,
        headers: { authorization: `Bearer ${token}`, 'content-type': `application/${type}` },
      });
    let began = () => {};
    const isRevoked = new Promise<void>((resolve) => {
      began = resolve;
    });
    const slow = post(
      'json',
      half(batch.slice(0, -10), batch.slice(-10), () => isRevoked),
    );
    const answer = await post(
      'x-ndjson',
      half(lines.slice(0, 120).join(''), lines.slice(120).join(''), async () => {
        await expect.poll(stored).toBe(100);
        expect((await service.call('DELETE', `/tokens/${id}`)).status).toBe(204);
        began();
      }),
    );
    const told = (await answer.json()) as Record<string, unknown>;
    expect([answer.status, told.code]).toEqual([401, 'token_revoked']);
    expect(told).toMatchObject({ accepted: 100, next_line: 100 });
    expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    expect((await slow).status).toBe(401);
    expect(await stored()).toBe(100);
  });

  test('a batch and a stream that is not begun say nothing of it', async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await service.call('POST', '/enrichment/records', { body: '{', headers });
    expect(answer.json).not.toHaveProperty('accepted');
  });
});

test('one bad line in the middle of a stream is reported, the rest is stored', async () => {
  const lines = Array.from({ length: 120 }, () => JSON.stringify(record()));
  lines[70] = '{"tenant":';
  lines[71] = '';
  lines[72] = JSON.stringify(record({ tenant: '' }));
  const answer = await stream(`${lines.join('\r\n')}`);
  expect(answer.json).toMatchObject({ accepted: 117, duplicates: 0, rejected_count: 2 });
  expect(answer.json.rejected.map((reject: { index: number }) => reject.index)).toEqual([70, 72]);
});

test('a line that is not UTF-8 or far too long is rejected alone', async () => {
  const good = Buffer.from(`${JSON.stringify(record())}\n`);
  const long = Buffer.from(`${JSON.stringify(record({ kind: 'x'.repeat(2 ** 20) }))}\n`);
  const bytes = Buffer.concat([
    good,
    Buffer.from([0xff, 0x0a]),
    long,
    Buffer.from(JSON.stringify(record())),
  ]);
  const answer = await stream(bytes);
  expect(answer.json).toMatchObject({ accepted: 2, rejected_count: 2 });
  expect(answer.json.rejected).toMatchObject([
    { index: 1, code: 'json_invalid' },
    { index: 2, code: 'record_too_large' },
  ]);
});

test('more than 1,000 rejects are counted, the first 1,000 listed', async () => {
  const answer = await stream('x\n'.repeat(2500));
  expect(answer.json).toMatchObject({ accepted: 0, rejected_count: 2500 });
  expect(answer.json.rejected).toHaveLength(1000);
  expect(answer.json.rejected.at(-1).index).toBe(999);
});

test('an empty stream is nothing', async () => {
  expect((await stream('')).json).toEqual({
    accepted: 0,
    duplicates: 0,
    rejected: [],
    rejected_count: 0,
  });
});
