import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { hold } from '../../../test/hold.ts';
import { useTestService } from '../../../test/service.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';

const service = useTestService();

const digestOf = (letter: string) => letter.repeat(64);
const start = async (letter: string, token = service.adminToken) => {
  const body = { digest: digestOf(letter), files: 2, total: 100 };
  const answer = await service.call('POST', '/enrichment/imports/jobs', { body, token });
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
};
const nothing = { at_file: 0, at_row: 0, rows: 0, sent: 0, taken: 0, rejected: 0, conflicts: 0 };
const report = (id: string, reached: object, token = service.adminToken) =>
  service.call('PATCH', `/enrichment/imports/jobs/${id}`, {
    body: { ...nothing, ...reached },
    token,
  });
const send = (id: string, records: readonly object[], more = '') =>
  service.call('POST', `/enrichment/records?import=${id}${more}`, { body: { records } });
const show = async (id: string) => (await service.call('GET', `/jobs/${id}`)).json;
const recordsOf = (tenant: string, count: number) => numberedRecords(tenant, count);
const countOf = async (tenant: string) => {
  const rows = await service.db.query<{ count: number }>(
    sql`select count from leaf_tenants where tenant = ${tenant}`,
  );
  return rows[0]?.count ?? 0;
};

test('what is new counts once, however often it is sent, and the rest is known in the end', async () => {
  const { id } = await start('a');
  const before = await service.call('POST', '/enrichment/records', {
    body: { records: recordsOf('ONCE', 10) },
  });
  expect(before.json).not.toHaveProperty('conflicts');
  const records = recordsOf('ONCE', 40);
  const other = { ...records[3], enrichment: { n: 'other' } };
  for (let times = 0; times < 3; times += 1) {
    const { json } = await send(id, [...records, other]);
    expect(json).toMatchObject({ rejected_count: 1, conflicts: 1 });
  }
  // A single record, and one that the service has to compare with nothing.
  await send(id, recordsOf('ONE', 1));
  await send(id, recordsOf('ONE', 1));
  const far = { at_file: 1, at_row: 5, rows: 42, sent: 42, taken: 41, rejected: 1, conflicts: 1 };
  expect((await report(id, far)).json).toMatchObject({ stored: 31, known: null });
  expect(await show(id)).toMatchObject({
    kind: 'import',
    state: 'running',
    progress: { done: 42, total: 100, unit: 'records' },
    summary:
      'Imports 2 files, of which 1 are done: 31 new records; 42 rows through ingest, 1 rejected, 1 of them in conflict.',
  });
  // One that came late, and one that comes twice, change nothing.
  await report(id, { at_file: 1, at_row: 4, rows: 41 });
  const end = { ...far, at_file: 2, at_row: 0, state: 'completed' };
  for (let times = 0; times < 2; times += 1) {
    expect((await report(id, end)).json).toMatchObject({
      ...{ state: 'completed', stored: 31, known: 10, rows: 42, rejected: 1 },
    });
  }
  expect(await show(id)).toMatchObject({ state: 'completed', has_faults: true, error: null });
});

test('records and their counts are stored together, part by part, or not at all', async () => {
  const { id } = await start('b');
  // Another transaction holds the import, as a cancel would that is not committed yet.
  const commit = await hold(
    service.db,
    sql`update record_imports set state = 'cancelled', finished_at = now() where id = ${id}`,
  );
  const sending = send(id, recordsOf('RACE', 20));
  await expect
    .poll(async () => {
      const waiting = await service.db.query(sql`
        select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%update record_imports%'`);
      return waiting.length;
    })
    .toBe(1);
  await commit();
  expect(await sending).toMatchObject({ status: 409, json: { code: 'job_finished' } });
  expect(await countOf('RACE')).toBe(0);
  expect((await service.call('GET', `/enrichment/imports/jobs/${id}`)).json.stored).toBe(0);
});

test('the same files go on in the same job, until it has ended', async () => {
  const first = await start('c');
  await report(first.id, { at_file: 1, rows: 50, taken: 50 });
  const [again, twice] = await Promise.all([start('c'), start('c')]);
  expect([again, twice]).toMatchObject([
    { id: first.id, at_file: 1, rows: 50 },
    { id: first.id, at_file: 1, rows: 50 },
  ]);
  expect((await start('d')).id).not.toBe(first.id);
  // A token that reaches less is refused what the other stores.
  const limited = await service.makeToken({ preset: 'pipeline', tenants: ['L'] });
  expect((await start('c', limited.token)).id).not.toBe(first.id);
  await report(first.id, { at_file: 2, rows: 100, taken: 100, state: 'completed' });
  expect((await start('c')).id).not.toBe(first.id);
});

test('one that is cancelled stores nothing more, and is told to whoever drives it', async () => {
  const { id } = await start('e');
  await send(id, recordsOf('CANCEL', 5));
  for (let times = 0; times < 2; times += 1) {
    const cancelled = await service.call('POST', `/jobs/${id}/cancel`);
    expect(cancelled).toMatchObject({ status: 200, json: { state: 'cancelled' } });
  }
  expect(await send(id, recordsOf('CANCEL', 9))).toMatchObject({
    status: 409,
    json: { code: 'job_finished' },
  });
  const lines = recordsOf('CANCEL', 9).map((record) => JSON.stringify(record));
  const stream = await service.call('POST', `/enrichment/records?import=${id}`, {
    body: `${lines.join('\n')}\n`,
    headers: { 'content-type': 'application/x-ndjson' },
  });
  expect(stream).toMatchObject({ status: 409, json: { code: 'job_finished' } });
  expect(await countOf('CANCEL')).toBe(5);
  const end = await report(id, { at_file: 2, rows: 5, taken: 5, state: 'completed' });
  expect(end.json).toMatchObject({ state: 'cancelled', stored: 5, rows: 0 });
  const told = await service.db.query(
    sql`select 1 from audit_log where target = ${id} and action = 'import.cancel'`,
  );
  expect(told).toHaveLength(1);
});

test('one whose command is silent or says that it stops is paused, and says why', async () => {
  const { id } = await start('f');
  await service.db.query(
    sql`update record_imports set heard_at = now() - interval '2 minutes' where id = ${id}`,
  );
  expect(await show(id)).toMatchObject({
    state: 'paused',
    error:
      'Its command has not been heard of for a minute. Run it again on the same files: it goes on from there.',
  });
  const { json } = await service.call('GET', '/jobs?kind=import&state=paused');
  expect(json.data).toMatchObject([{ id }]);
  // What was sent before it fell silent may be stored only now.
  await send(id, recordsOf('HEARD', 1));
  expect((await show(id)).state).toBe('paused');
  await report(id, {});
  expect(await show(id)).toMatchObject({ state: 'running', error: null });
  await report(id, { stopped: 'interrupted' });
  expect(await show(id)).toMatchObject({
    state: 'paused',
    error: expect.stringMatching(/^Its command stopped \(interrupted\)\. Run it again/),
  });
  expect(await start('f')).toMatchObject({ id, state: 'running' });
  await service.db.query(
    sql`update record_imports set heard_at = now() - interval '91 days' where id = ${id}`,
  );
  await start('0');
  expect(await show(id)).toMatchObject({ code: 'job_not_found' });
});

test('refuses what cannot be, and changes nothing', async () => {
  const { id } = await start('9');
  const wrong = [
    { at_file: 3 },
    { at_file: 1, state: 'completed' },
    { rows: 1, rejected: 1, conflicts: 2 },
    { rows: 1, taken: 1, rejected: 1 },
    { rows: -1 },
    { rows: 2 ** 60 },
    { stopped: 'A fault!' },
    { state: 'running' },
  ];
  for (const reached of wrong) {
    const answer = await report(id, reached);
    expect(answer, JSON.stringify(reached)).toMatchObject({
      status: 400,
      json: { code: 'request_invalid' },
    });
  }
  expect((await service.call('GET', `/enrichment/imports/jobs/${id}`)).json).toMatchObject(nothing);
  for (const digest of ['x', digestOf('G')]) {
    const body = { digest, files: 1, total: null };
    const answer = await service.call('POST', '/enrichment/imports/jobs', { body });
    expect(answer).toMatchObject({ status: 400, json: { code: 'request_invalid' } });
  }
  const missing = { status: 404, json: { code: 'job_not_found' } };
  for (const unknown of ['imp_x', '%00']) {
    expect(await send(unknown, recordsOf('NONE', 1))).toMatchObject(missing);
    expect(await report('imp_x', {})).toMatchObject(missing);
  }
  expect(await countOf('NONE')).toBe(0);
  expect(await send(id, recordsOf('NONE', 1), '&dry_run=true')).toMatchObject({ status: 400 });
  const other = await service.makeToken({ scopes: ['enrichment:read', 'enrichment:write'] });
  const cancel = await service.call('POST', `/jobs/${id}/cancel`, { token: other.token });
  expect(cancel).toMatchObject({ status: 403, json: { code: 'scope_missing' } });
  const limited = await service.makeToken({ preset: 'pipeline', tenants: ['L'] });
  expect(await report(id, {}, limited.token)).toMatchObject(missing);
});
