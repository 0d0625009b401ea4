import { gzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, test } from 'vitest';
import { useWebhookApi } from '../testing/api.ts';

const { service, makeEndpoint } = useWebhookApi();
beforeAll(async () => {
  for (const ordered of ['none', 'group']) await makeEndpoint('T', { ordered });
});

const line = (n: number, more: object = {}) =>
  JSON.stringify({ tenant: 'T', type: 'incident.created', data: { n }, ...more });
const lines = (count: number, more: (n: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, n) => line(n, more(n)));
const post = (
  body: string | Uint8Array | string[],
  headers: Record<string, string> = {},
  token?: string,
) =>
  service.call('POST', '/incidents', {
    body: Array.isArray(body) ? body.join('\n') : body,
    headers: { 'content-type': 'application/x-ndjson', ...headers },
    ...(token !== undefined && { token }),
  });
const one = (headers: Record<string, string>, more: object = {}) =>
  service.call('POST', '/incidents', {
    body: { tenant: 'T', type: 'incident.created', data: { a: 1 }, ...more },
    headers,
  });
const count = async (type: string) => {
  const [row] = await service.db.query<{ incidents: number; deliveries: number }>(sql`
    select (select count(*) from incidents where type = ${type}) as incidents,
      (select count(*) from deliveries where event_type = ${type}) as deliveries`);
  return row;
};

describe('a batch', () => {
  test('stores its lines in their order, and says what became of each that it refuses', async () => {
    const { token } = await service.makeToken({ preset: 'pipeline', tenants: ['T'] });
    const sent = lines(1203, (n) => ({ type: 'a.order', group: n % 2 === 0 ? 'even' : 'odd' }));
    sent[3] = 'no incident';
    sent[4] = '';
    sent[5] = line(5, { type: 'Wrong' });
    sent[6] = line(6, { type: 'a.order', tenant: 'elsewhere' });
    sent[7] = line(7, { type: 'a.order', more: 1 });
    sent[8] = line(8, { type: 'svcctl.own' });
    sent[9] = `{"tenant":"T","type":"a.order","data":"${'x'.repeat(300_000)}"}`;
    sent[10] = `{"tenant":"T","type":"a.order","data":"${'x'.repeat(700_000)}"}`;
    const answer = await post(`\ufeff${sent.join('\r\n')}`, {}, token);
    expect(answer.status, answer.text).toBe(207);
    const { rejected, ...told } = answer.json;
    expect(told).toEqual({ accepted: 1195, duplicates: 0, deliveries: 2390, rejected_count: 7 });
    expect(
      rejected.map(({ index, code }: { index: number; code: string }) => [index, code]),
    ).toEqual([
      [3, 'json_invalid'],
      [5, 'request_invalid'],
      [6, 'tenant_not_allowed'],
      [7, 'request_invalid'],
      [8, 'request_invalid'],
      [9, 'body_too_large'],
      [10, 'body_too_large'],
    ]);
    expect(rejected[0].message).toContain('The line is not JSON');
    expect(await count('a.order')).toEqual({ incidents: 1195, deliveries: 2390 });
    const rows = await service.db.query<{ n: number }>(sql`
      select (i.body::json #>> '{data,n}')::int as n from deliveries d join incidents i on i.id = d.incident_id
      where d.order_key = 'odd' order by d.sequence`);
    const numbers = rows.map(({ n }) => n);
    expect(numbers.length).toBeGreaterThan(590);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  });

  test('keeps the digits of numbers, and data as it was spelled', async () => {
    await post('{"tenant":"T","type":"a.digits","data":{"id": 12345678901234567890, "x":1e5}}\n');
    const [row] = await service.db.query<{ body: string }>(
      sql`select body from incidents where type = 'a.digits'`,
    );
    expect(row?.body).toContain('"data":{"id":12345678901234567890,"x":1e5}');
  });

  test('that is sent again under its Idempotency-Key reports nothing twice', async () => {
    const sent = lines(30, () => ({ type: 'a.again' }));
    sent[7] = line(7, { type: 'a.again', idempotency_key: 'own' });
    sent[8] = sent[7];
    const key = { 'idempotency-key': 'night' };
    expect((await post(sent, key)).json).toMatchObject({ accepted: 29, duplicates: 1 });
    const before = await count('a.again');
    expect((await post(sent, key)).json).toMatchObject({
      accepted: 0,
      duplicates: 30,
      deliveries: 0,
      rejected_count: 0,
    });
    sent[2] = line(99, { type: 'a.again' });
    const changed = await post(sent, { 'idempotency-key': '"night"' });
    expect(changed.json).toMatchObject({ duplicates: 29, rejected: [{ index: 2 }] });
    expect(changed.json.rejected[0].code).toBe('idempotency_conflict');
    expect(await count('a.again')).toEqual(before);
    expect((await post(sent, { 'idempotency-key': 'k'.repeat(181) })).status).toBe(400);
  });

  test('takes keys that are in use by single reports, and the other way round', async () => {
    const more = { type: 'a.mixed', data: { n: 0 } };
    const first = await one({}, { ...more, idempotency_key: 'mixed/0' });
    const key = { 'idempotency-key': 'mixed' };
    const answer = await post(
      lines(2, () => ({ type: 'a.mixed' })),
      key,
    );
    expect(answer.json).toMatchObject({ accepted: 1, duplicates: 1 });
    const again = await one({}, { ...more, idempotency_key: 'mixed/0' });
    expect(again.text).toBe(first.text);
  });

  test('that is no text, or of another type, is refused', async () => {
    expect((await post(gzipSync(line(1)))).json.code).toBe('body_encoding_invalid');
    const plain = await post(line(1), { 'content-type': 'text/plain' });
    expect(plain.json.code).toBe('media_type_unsupported');
    expect((await post('')).json).toMatchObject({ accepted: 0, rejected_count: 0 });
  });
});

describe('a batch that breaks off says what is stored, and where to go on', () => {
  test('when its gzip is cut', async () => {
    const sent = lines(2000, () => ({ type: 'a.cut' }));
    sent[3] = 'no incident';
    const text = `${sent.join('\n')}\n`;
    const whole = gzipSync(text, { level: 0 });
    const headers = { 'content-encoding': 'gzip' };
    const { status, json } = await post(whole.subarray(0, -9000), headers);
    expect([status, json.code]).toEqual([400, 'body_encoding_invalid']);
    const { accepted, next_line, next_byte, lines_read, rejected_count } = json;
    expect([accepted, rejected_count]).toEqual([next_line - 1, 1]);
    expect(next_line).toBeGreaterThan(500);
    expect(lines_read).toBeGreaterThan(next_line);
    expect(json.detail).toContain(`Of the ${lines_read} lines read, ${accepted} are reported now`);
    expect(json.detail).toContain('Go on where next_line or next_byte say.');
    expect((await count('a.cut'))?.incidents).toBe(accepted);
    const rest = await post(Buffer.from(text).subarray(next_byte));
    expect(rest.json).toMatchObject({ accepted: 2000 - next_line, rejected_count: 0 });
  });

  test('when the database refuses some lines: all that came with them are missing', async () => {
    await service.db.pool.query(
      `alter table incidents add constraint no_poison check (body not like '%poison%') not valid`,
    );
    const sent = lines(1210, () => ({ type: 'a.refused' }));
    sent[620] = line(620, { type: 'a.refused', data: 'poison' });
    const key = { 'idempotency-key': 'refused' };
    const answer = await post(sent, key);
    await service.db.pool.query('alter table incidents drop constraint no_poison');
    expect([answer.status, answer.json.code]).toEqual([500, 'internal_error']);
    expect(answer.json).toMatchObject({ accepted: 500, next_line: 500 });
    // The keys of the rest alone would be those of the first lines, and what is like these would pass for repeated.
    expect(answer.json.detail).toContain('all of it again with the same Idempotency-Key');
    expect(answer.json.detail).not.toContain('Go on where');
    expect((await count('a.refused'))?.incidents).toBe(500);
    expect((await post(sent, key)).json).toMatchObject({ accepted: 710, duplicates: 500 });
    expect(await count('a.refused')).toEqual({ incidents: 1210, deliveries: 2420 });
  });

  test('when its token is revoked', async () => {
    const { id, token } = await service.makeToken({ preset: 'pipeline' });
    const sent = lines(1000, () => ({ type: 'a.revoked' }));
    async function* halves() {
      yield Buffer.from(`${sent.slice(0, 600).join('\n')}\n`);
      await expect.poll(async () => (await count('a.revoked'))?.incidents).toBe(500);
      expect((await service.call('DELETE', `/tokens/${id}`)).status).toBe(204);
      yield Buffer.from(sent.slice(600).join('\n'));
    }
    const answer = await fetch(`${service.url}/api/v1/incidents`, {
      method: 'POST',
      body: halves(),
      duplex: 'half' as const,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/jsonl' },
    });
    expect([answer.status, await answer.json()]).toEqual([
      401,
      expect.objectContaining({ code: 'token_revoked', accepted: 500, next_line: 500 }),
    ]);
    expect((await count('a.revoked'))?.incidents).toBe(500);
  });
});

describe('the header Idempotency-Key', () => {
  test('is the key of a report, with quotes or without, as one in the body', async () => {
    const first = await one({ 'idempotency-key': 'header-1' });
    expect(first.status, first.text).toBe(202);
    expect((await one({ 'Idempotency-Key': '"header-1"' })).text).toBe(first.text);
    expect((await one({}, { idempotency_key: 'header-1' })).text).toBe(first.text);
    const both = await one({ 'idempotency-key': 'header-1' }, { idempotency_key: 'header-1' });
    expect(both.text).toBe(first.text);
  });

  test('with another body is a conflict, each time', async () => {
    await one({ 'idempotency-key': 'header-2' });
    for (const _ of [1, 2]) {
      const other = await one({ 'idempotency-key': 'header-2' }, { data: { a: 2 } });
      expect([other.status, other.json.code]).toEqual([409, 'idempotency_conflict']);
    }
  });

  test.each(['', 'two words', 'ä', 'k'.repeat(201), '""'])('%j is refused', async (key) => {
    const answer = await one({ 'idempotency-key': encodeURI(key) === key ? key : 'ü' });
    expect([answer.status, answer.json.code]).toEqual([400, 'request_invalid']);
  });

  test('that differs from the key in the body is refused', async () => {
    const answer = await one({ 'idempotency-key': 'a' }, { idempotency_key: 'b' });
    expect(answer.json.errors).toMatchObject([{ path: '/idempotency_key' }]);
    expect(answer.status).toBe(400);
  });
});
