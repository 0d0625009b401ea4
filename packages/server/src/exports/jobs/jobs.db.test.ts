import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { open, readdir, stat, utimes } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, type TestService, useTestService } from '../../../test/service.ts';
import { tryLock } from '../../platform/postgres/locks.ts';
import { numberedRecords, storeRecords } from '../../records/ingest/testing/post-records.ts';
import type { ExportJob } from '../jobs.contract.ts';
import { listSweepable } from './queries.ts';

const settings = { SVC_RATE_LIMIT: '0' };
/** Works on jobs. */
const service = useTestService(settings, undefined, { waits: { exportLookMillis: 200 } });
/** Has no role exports: jobs stay queued. */
const idle = useTestService({ ...settings, SVC_ROLES: 'api' });
beforeAll(async () => {
  await ingest(service, 'T', 300);
  await ingest(idle, 'T', 30);
});

const ingest = (on: TestService, tenant: string, count: number) =>
  storeRecords(
    on,
    numberedRecords(tenant, count, (n) => ({
      store: n % 2 === 0 ? 'A' : 'B',
      occurred_at: `2001-03-0${(n % 7) + 1}T00:00:00Z`,
      kind: n % 3 === 0 ? 'k' : 'other',
    })),
  );

const createJob = (on: TestService, body: object, more: object = {}) =>
  on.call('POST', '/exports/csv', { body, headers: { prefer: 'respond-async' }, ...more });
async function completedJob(body: object): Promise<ExportJob> {
  const { json } = await createJob(service, body);
  const job = await vi.waitUntil(
    async () => {
      const { json: found } = await get(service, json.id);
      return found.finished_at !== null && found;
    },
    { timeout: 120_000 },
  );
  expect(job).toMatchObject({ state: 'completed', error: null });
  return job;
}
const get = (on: TestService, path: string, headers: Record<string, string> = {}) =>
  on.call('GET', `/exports/${path}`, { headers });
const cancel = (on: TestService, id: string) => on.call('DELETE', `/exports/${id}`);
/** Where the objects of a job of the tenant T lie. */
const folderOf = (id: string) => join(service.dataDir, 'cold', 'exports', 'tenant=T', id);
const audited = async (on: TestService) =>
  (await on.call('GET', '/audit')).json.data.map((row: { action: string }) => row.action);

describe('refuses', () => {
  test('a job whose id is none', async () => {
    const answer = await get(idle, '%00');
    expect(answer).toMatchObject({ status: 404, json: { code: 'export_not_found' } });
  });

  test.each([
    [{ tenant: 'T', delivery: 'link' }, '/delivery'],
    [{ tenant: 'T', split: 'train' }, '/split'],
    [{ tenant: 'T', from: '2001-01-01' }, '/to'],
  ])('a job of %j', async (body, path) => {
    const answer = await createJob(idle, body);
    expect(answer).toMatchObject({ status: 400, json: { errors: [{ path }] } });
  });

  test('a job of a version that does not exist', async () => {
    const answer = await createJob(idle, { tenant: 'T', version: 'ver_x' });
    expect(answer).toMatchObject({ status: 404, json: { code: 'version_not_found' } });
  });

  test('the file of a job that has none', async () => {
    const { json } = await createJob(idle, { tenant: 'T' });
    const expectRefused = async (code: string) => {
      for (const what of ['file', 'manifest']) {
        const answer = await get(idle, `${json.id}/${what}`);
        expect(answer).toMatchObject({ status: 409, json: { code } });
      }
    };
    await expectRefused('export_unfinished');
    await cancel(idle, json.id);
    await expectRefused('export_without_file');
  });

  test('more than 25 open jobs of a token and 100 of a tenant, however many ask at once', async () => {
    await ingest(idle, 'MANY', 1);
    const refused: Answer[] = [];
    for (const room of [25, 25, 25, 25, 0]) {
      const { token } = await idle.makeToken({ preset: 'support-readonly' });
      const answers: Answer[] = [];
      for (let round = 0; round < 3; round++) {
        const nine = Array.from({ length: 9 }, () =>
          createJob(idle, { tenant: 'MANY' }, { token }),
        );
        answers.push(...(await Promise.all(nine)));
      }
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(room);
      refused.push(...answers.filter(({ status }) => status === 429));
    }
    expect(refused).toHaveLength(4 * 2 + 27);
    expect(refused.map(({ json }) => json.code)).toEqual(refused.map(() => 'exports_full'));
    expect(refused[0]?.json.detail).toContain('25 exports of MANY that this token asked for');
    expect(refused.at(-1)?.json.detail).toContain('100 exports of MANY');
    expect((await createJob(idle, { tenant: 'T' })).status).toBe(202);
    await idle.db.query(sql`delete from exports`);
  });

  test('to cancel or remove what another token asked for, unless it is an admin’s', async () => {
    const maker = await idle.makeToken({ preset: 'support-readonly' });
    const other = await idle.makeToken({ preset: 'curator' });
    const limited = await idle.makeToken({ preset: 'admin', tenants: ['T'] });
    for (const { token } of [maker, limited]) {
      const { json } = await createJob(idle, { tenant: 'T' }, { token: maker.token });
      const refused = await idle.call('DELETE', `/exports/${json.id}`, { token: other.token });
      expect(refused).toMatchObject({ status: 403, json: { code: 'scope_missing' } });
      expect((await get(idle, json.id)).json.state).toBe('queued');
      const cancelled = await idle.call('DELETE', `/exports/${json.id}`, { token });
      expect(cancelled.json.state).toBe('cancelled');
    }
  });

  test('a version whose records are not what was frozen', async () => {
    await idle.db.query(sql`
      insert into dataset_versions (tenant, id, dataset, name, slices, tags, recorded_before, count,
        bytes, digest, state, parts, error, created_by)
      values ('T', 'ver_f', 'training', 'v', '[]', '{"training":[],"fine_tuning":[]}', now(), 0, 0, 0,
        'failed', '[]', 'a digest differs', 'test')`);
    const answer = await createJob(idle, { tenant: 'T', version: 'ver_f' });
    expect(answer).toMatchObject({ status: 409, json: { code: 'version_changed' } });
  });
});

describe('a job', () => {
  test('is queued, and told where to follow', async () => {
    const answer = await createJob(idle, { tenant: 'T', store: 'A', compression: 'gzip' });
    expect(answer.status).toBe(202);
    expect(answer.headers.get('location')).toBe(`/api/v1/exports/${answer.json.id}`);
    expect(answer.headers.get('preference-applied')).toBe('respond-async');
    expect(answer.json).toMatchObject({
      tenant: 'T',
      format: 'csv',
      state: 'queued',
      file_name: 'T_A.csv.gz',
      rows_done: 0,
      rows_total: 15,
      percent: 0,
      has_file: false,
      attempts: 0,
      version: null,
      request: { tenant: 'T', store: 'A', compression: 'gzip' },
    });
    expect((await get(idle, answer.json.id)).json).toEqual(answer.json);
    const cancelled = await cancel(idle, answer.json.id);
    expect(cancelled.json).toMatchObject({ state: 'cancelled', has_file: false, expires_at: null });
    expect((await cancel(idle, answer.json.id)).json).toEqual(cancelled.json);
    expect((await audited(idle)).slice(0, 2)).toEqual(['export.cancel', 'export.create']);
  });

  test('is listed with the others, the latest first', async () => {
    await idle.db.query(sql`delete from exports`);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await createJob(idle, { tenant: 'T' })).json.id);
    await cancel(idle, ids[1] ?? '');
    const page = async (query: string) => {
      const { json } = await idle.call('GET', `/exports?${query}`);
      return { ids: json.data.map(({ id }: ExportJob) => id), next: json.next_cursor };
    };
    expect(await page('tenant=T')).toEqual({ ids, next: null });
    expect((await page('state=cancelled')).ids).toEqual([ids[1]]);
    expect((await page('tenant=OTHER')).ids).toEqual([]);
    const first = await page('limit=2');
    const second = await page(`limit=2&cursor=${first.next}`);
    const third = await page(`limit=2&cursor=${second.next}`);
    expect([...first.ids, ...second.ids, ...third.ids]).toEqual(ids);
    expect(third.next).toBeNull();
    const bent = await idle.call('GET', `/exports?tenant=T&cursor=${first.next}`);
    expect(bent).toMatchObject({ status: 400, json: { code: 'cursor_invalid' } });
  });

  test('ends with a file, its manifest and one entry in the audit log a download', async () => {
    const job = await completedJob({ tenant: 'T', columns: ['event_id', 'enrichment.n'] });
    expect(job).toMatchObject({ rows_done: 300, rows_total: 300, percent: 100, has_file: true });
    const file = await get(service, `${job.id}/file`);
    expect(file.status).toBe(200);
    const sha256 = createHash('sha256').update(file.text).digest();
    expect(sha256.toString('hex')).toBe(job.sha256);
    expect(file.text.split('\n')).toHaveLength(302);
    expect(Object.fromEntries(file.headers)).toMatchObject({
      etag: `"${job.sha256}"`,
      'accept-ranges': 'bytes',
      'content-length': String(job.bytes),
      'content-disposition': 'attachment; filename="T.csv"',
      'repr-digest': `sha-256=:${sha256.toString('base64')}:`,
      'x-record-count': '300',
    });
    const asked = await service.call('HEAD', `/exports/${job.id}/file`);
    expect(asked).toMatchObject({ status: 200, text: '' });
    for (const name of ['etag', 'content-length', 'content-type', 'x-record-count']) {
      expect(asked.headers.get(name)).toBe(file.headers.get(name));
    }
    const { json } = await get(service, `${job.id}/manifest`);
    expect(json).toMatchObject({
      export_id: job.id,
      rows: 300,
      digest: job.digest,
      sha256: job.sha256,
      proof: 'rows',
      columns: ['event_id', 'enrichment.n'],
      bytes: job.bytes,
      splits: null,
      version: null,
      finished_at: job.finished_at,
      request: job.request,
    });
    await get(service, `${job.id}/file`, { range: 'bytes=0-9' });
    await get(service, `${job.id}/file`, { range: 'bytes=10-19' });
    const actions = (await audited(service)).filter((action: string) => action !== 'token.create');
    expect(actions.slice(0, 3)).toEqual(['export.download', 'export.download', 'export.create']);
  });

  test('of an export without Prefer, or with another preference, is not made', async () => {
    const { json } = await service.call('GET', '/exports');
    for (const prefer of ['wait=10', 'respond-asynchronously']) {
      const answer = await service.call('POST', '/exports/csv', {
        body: { tenant: 'T' },
        headers: { prefer },
      });
      expect(answer.status).toBe(200);
    }
    expect((await service.call('GET', '/exports')).json.data).toHaveLength(json.data.length);
  });
});

describe('a file', () => {
  let job: ExportJob;
  let whole: string;
  beforeAll(async () => {
    job = await completedJob({ tenant: 'T' });
    whole = (await get(service, `${job.id}/file`)).text;
  });
  const file = (headers: Record<string, string>) => get(service, `${job.id}/file`, headers);

  test('is not sent again to who knows its ETag', async () => {
    const answer = await file({ 'if-none-match': `"x", W/"${job.sha256}"` });
    expect(answer).toMatchObject({ status: 304, text: '' });
    expect(answer.headers.get('etag')).toBe(`"${job.sha256}"`);
    expect((await file({ 'if-none-match': '"x"' })).status).toBe(200);
  });

  test('has no bytes behind its end', async () => {
    const answer = await file({ range: `bytes=${job.bytes}-` });
    expect(answer).toMatchObject({ status: 416, json: { code: 'range_unsatisfiable' } });
    expect(answer.headers.get('content-range')).toBe(`bytes */${job.bytes}`);
  });

  test.each(['bytes=1-', 'bytes=-10'])('is noted once for who begins with %s', async (range) => {
    const { id, token } = await service.makeToken({ scopes: ['analytics:read'] });
    for (const each of [range, 'bytes=2-3']) {
      const headers = { range: each };
      const answer = await service.call('GET', `/exports/${job.id}/file`, { token, headers });
      expect(answer.status).toBe(206);
    }
    const { json } = await service.call('GET', `/audit?actor=${id}`);
    expect(json.data).toMatchObject([{ action: 'export.download', target: job.id }]);
  });

  test('is whole to who asks for several ranges, or for one of another file', async () => {
    expect(await file({ range: 'bytes=0-1,3-4' })).toMatchObject({ status: 200, text: whole });
    const range = 'bytes=5-9';
    expect(await file({ range, 'if-range': '"x"' })).toMatchObject({ status: 200, text: whole });
    const answer = await file({ range, 'if-range': `"${job.sha256}"` });
    expect(answer).toMatchObject({ status: 206, text: whole.slice(5, 10) });
    expect(answer.headers.get('content-range')).toBe(`bytes 5-9/${job.bytes}`);
  });

  test('is gone when it is deleted, and has left no object', async () => {
    const { id } = await completedJob({ tenant: 'T', store: 'B' });
    const removed = await cancel(service, id);
    expect(removed.json).toMatchObject({ state: 'completed', has_file: false });
    expect((await cancel(service, id)).json).toMatchObject({ has_file: false });
    const answer = await get(service, `${id}/file`);
    expect(answer).toMatchObject({ status: 410, json: { code: 'export_file_gone' } });
    expect((await get(service, `${id}/manifest`)).status).toBe(200);
    await expect.poll(() => readdir(folderOf(id)), { timeout: 120_000 }).toEqual([]);
    expect((await audited(service)).slice(0, 2)).toEqual(['export.remove', 'export.create']);
  });

  test('that is deleted while a backup copies objects is copied whole', async () => {
    const { id } = await completedJob({ tenant: 'T', store: 'B' });
    const names = await readdir(folderOf(id));
    const backup = await service.db.openSession();
    expect(await tryLock(backup, 'objectHolds', undefined, { isShared: true })).toBe(true);
    expect((await cancel(service, id)).json).toMatchObject({ has_file: false });
    expect(await listSweepable(service.db, 100)).toEqual([]);
    expect(await readdir(folderOf(id))).toEqual(names);
    await backup.close();
    await expect.poll(() => readdir(folderOf(id)), { timeout: 120_000 }).toEqual([]);
  });

  test('is gone when it has expired', async () => {
    const { id } = await completedJob({ tenant: 'T', store: 'A' });
    await service.db.query(sql`update exports set expires_at = now() where id = ${id}`);
    expect((await get(service, `${id}/file`)).status).toBe(410);
    expect((await get(service, id)).json.has_file).toBe(false);
  });
});

describe('a flipped byte of a part', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await completedJob({ tenant: 'T', kind: 'k' }));
    const dir = folderOf(id);
    const path = join(dir, (await readdir(dir)).filter((name) => name.startsWith('1.'))[0] ?? '');
    // As a disk does it: nothing else about the file changes.
    const { atime, mtime } = await stat(path);
    const part = await open(path, 'r+');
    await part.write('?', 50);
    await part.close();
    await utimes(path, atime, mtime);
  });

  test('resets the connection when some of the file was sent', async () => {
    const sent = request(`${service.url}/api/v1/exports/${id}/file`, {
      headers: { authorization: `Bearer ${service.adminToken}` },
    });
    sent.end();
    const [response] = await once(sent, 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
    await expect(once(response, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  test('is a 500 when none was sent yet', async () => {
    const answer = await get(service, `${id}/file`, { range: 'bytes=-20' });
    expect(answer).toMatchObject({ status: 500, json: { code: 'segment_damaged' } });
    expect(answer.headers.get('etag')).toBeNull();
  });
});
