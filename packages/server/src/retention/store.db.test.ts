import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { testActor } from '../../test/actor.ts';
import { createTestDatabase } from '../../test/database.ts';
import { useS3 } from '../../test/s3.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import { openObjectStore } from '../platform/objects/open-store.ts';
import { listOrphans } from './objects.ts';
import type { RetentionOptions } from './store.ts';

const s3 = useS3();

const patient = { timeout: 120_000 };
const settings = {
  SVC_RATE_LIMIT: '0',
  SVC_COLD_GRACE_SECONDS: '0',
  SVC_SECRET_KEY: 'of-both-copies-of-the-database-0001',
};

async function ended(on: TestService, path: string) {
  const read = async () => (await on.call('GET', path)).json;
  return vi.waitUntil(async () => {
    const row = await read();
    return row.finished_at !== null && row;
  }, patient);
}

async function exportAsJob(on: TestService) {
  return on.call('POST', '/exports/csv', {
    body: { tenant: 'T' },
    headers: { prefer: 'respond-async' },
  });
}

async function ingest(on: TestService, day: string, from: number): Promise<void> {
  const records = Array.from({ length: 20 }, (_, n) => ({
    tenant: 'T',
    store: 'S',
    event_id: `e-${from + n}`,
    occurred_at: `${day}T00:00:00Z`,
    // Twenty and forty of them are of one level, so that their segments are merged.
    enrichment: { n, note: '-'.repeat(100) },
  }));
  const answer = await on.call('POST', '/enrichment/records', { body: { records } });
  expect(answer.json.accepted).toBe(20);
}

const readyOf = async (on: TestService) => (await on.call('GET', '/~/readyz')).json;
const storeOf = async (on: TestService) => (await on.call('GET', '/retention/store')).json;

describe('two copies of a database on one S3 store', () => {
  let ours: TestService;
  let copy: TestService;
  beforeAll(async () => {
    const env = { ...settings, SVC_BLOB_URL: s3.urlOf('copies') };
    ours = await startTestService(env);
    await ingest(ours, '2001-03-01', 0);
    expect(await ours.retain()).toMatchObject({ state: 'completed', moved_count: 20 });
    await ingest(ours, '2001-03-01', 100);
    await ingest(ours, '2001-03-02', 200);
    copy = await startTestService(env, undefined, { original: ours });
    expect(await copy.retain()).toMatchObject({ state: 'completed', moved_count: 40 });
  });
  afterAll(async () => {
    await ours.stop();
    await copy.stop();
  });

  test('a run of the second fails, and says why', async () => {
    expect(await ours.retain()).toMatchObject({
      state: 'failed',
      moved_count: 0,
      error: expect.stringContaining('has gone on with another database'),
    });
    const [moved] = await ours.db.query(
      sql`select count(*) as count from moves where state not in ('removed', 'switched')`,
    );
    expect(moved).toEqual({ count: 0 });
  });

  test('it is told at every place where one looks, and the second stays in service', async () => {
    expect(await storeOf(ours)).toEqual({
      state: 'elsewhere',
      problem: expect.stringContaining('svcctl retention adopt-store'),
      written_at: expect.any(String),
      written_by: expect.any(String),
      segments: null,
      segments_missing: null,
    });
    const ready = await ours.call('GET', '/~/readyz');
    expect(ready.status).toBe(200);
    expect(ready.json).toEqual({
      status: 'ready',
      warnings: [
        {
          code: 'store_fenced',
          title: 'The store of cold data has gone on with another database.',
        },
      ],
    });
    const plan = await ours.call('GET', '/retention/plan');
    expect(plan.json.store).toMatchObject({ state: 'elsewhere' });
    const metrics = (await ours.call('GET', '/~/metrics')).text;
    expect(metrics).toContain('svcctl_cold_store{state="elsewhere"} 1');
    expect(metrics).toContain('svcctl_cold_store{state="own"} 0');
    expect(await readyOf(copy)).toEqual({ status: 'ready' });
    expect((await copy.call('GET', '/retention/plan')).json.store).toEqual({
      state: 'own',
      problem: null,
    });
    const limited = await ours.makeToken({ preset: 'support-readonly', tenants: ['T'] });
    const seen = await ours.call('GET', '/retention/store', { token: limited.token });
    expect(seen.json).toMatchObject({ state: 'elsewhere', written_by: null });
  });

  test('what the first has merged away is missing to the second, which is told why', async () => {
    await copy.db.query(sql`update object_removals set remove_after = now()`);
    await vi.waitUntil(async () => {
      const left = await copy.db.query(sql`select object_key from object_removals`);
      return left.length === 0;
    }, patient);
    const copies = join(ours.dataDir, 'object-cache');
    for (const name of await readdir(copies, { recursive: true })) {
      if (name.endsWith('.parquet')) await rm(join(copies, name));
    }
    const page = await ours.call('GET', '/enrichment/records?tenant=T');
    expect(page.json).toMatchObject({ status: 500, code: 'segment_damaged' });
    expect(page.json.detail).toContain('has gone on with another database');
    const other = await copy.call('GET', '/enrichment/records?tenant=T');
    expect(other.json.data).toHaveLength(60);
  });

  test('the second erases no cold data and makes no files of exports; what is hot goes as ever', async () => {
    const hot = { tenant: 'T', from: '2001-03-02', to: '2001-03-02' };
    const erased = await ours.call('POST', '/enrichment/erase', { body: hot });
    expect(erased.json).toMatchObject({ erased: { count: 20 }, cold_count: 0 });
    const cold = { tenant: 'T', from: '2001-03-01', to: '2001-03-01' };
    const refused = await ours.call('POST', '/enrichment/erase', { body: cold });
    expect(refused.json).toMatchObject({ status: 409, code: 'store_fenced' });
    const job = await ours.call('POST', '/exports/csv', {
      body: hot,
      headers: { prefer: 'respond-async' },
    });
    expect(await ended(ours, `/exports/${job.json.id}`)).toMatchObject({
      state: 'failed',
      error_code: 'store_fenced',
    });
  });

  test('no takeover is tried before it is on record, and one that failed says so', async () => {
    await ours.db.pool.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create constraint trigger refuse after insert on audit_log
        deferrable initially deferred for each row execute function refuse()`);
    expect((await ours.call('POST', '/retention/adopt-store')).status).toBe(500);
    await ours.db.pool.query('drop trigger refuse on audit_log; drop function refuse()');
    expect((await storeOf(ours)).state).toBe('elsewhere');
    s3.behave((method) => (method === 'PUT' ? 'deny' : 'pass'));
    const failed = await ours.call('POST', '/retention/adopt-store');
    s3.behave(() => 'pass');
    expect(failed.json).toMatchObject({ status: 503, code: 'cold_tier_unavailable' });
    expect((await storeOf(ours)).state).toBe('elsewhere');
    const audit = await ours.call('GET', '/audit?action=retention.adopt_store');
    expect(audit.json.data).toMatchObject([
      { before: null, after: { failed: 'cold_tier_unavailable' } },
      { before: { state: 'elsewhere' }, after: { state: 'own' } },
    ]);
  });

  test('before that it can be told how many objects are missing, and who wrote what nobody knows', async () => {
    const counted = (await ours.call('GET', '/retention/store?include=missing')).json;
    const known = await ours.db.query<{ key: string }>(sql`select object_key as key from segments`);
    const others = await copy.db.query<{ key: string }>(
      sql`select object_key as key from segments`,
    );
    const theirs = others.map(({ key }) => key);
    const missing = known.filter(({ key }) => !theirs.includes(key)).length;
    expect(counted).toMatchObject({ segments: known.length, segments_missing: missing });
    expect(missing).toBeGreaterThan(0);
    const { data } = (await ours.call('GET', '/retention/orphans')).json;
    const keys = data.map(({ object_key }: { object_key: string }) => object_key);
    expect(keys.sort()).toEqual(
      theirs.filter((key) => !known.some((row) => row.key === key)).sort(),
    );
    // They are the other database's, as long as the store is.
    const body = { object_keys: keys };
    const refused = await ours.call('POST', '/retention/orphans/remove', { body });
    expect(refused.json).toMatchObject({ status: 409, code: 'store_fenced' });
    expect((await copy.call('GET', '/enrichment/records?tenant=T')).status).toBe(200);
  });

  test('an unlimited admin takes the store over, which is on record; then the other one stands still', async () => {
    const limited = await ours.makeToken({ preset: 'admin', tenants: ['T'] });
    const refused = await ours.call('POST', '/retention/adopt-store', { token: limited.token });
    expect(refused.json).toMatchObject({ status: 403 });
    expect((await storeOf(ours)).state).toBe('elsewhere');
    const adopted = await ours.call('POST', '/retention/adopt-store');
    expect(adopted.json).toMatchObject({ state: 'own', problem: null });
    expect(await readyOf(ours)).toEqual({ status: 'ready' });
    const audit = await ours.call('GET', '/audit?action=retention.adopt_store&limit=1');
    expect(audit.json.data).toMatchObject([
      { before: { state: 'elsewhere' }, after: { state: 'own' } },
    ]);
    await ingest(copy, '2001-03-03', 300);
    expect(await copy.retain()).toMatchObject({ state: 'failed' });
    expect((await storeOf(copy)).state).toBe('elsewhere');
  });

  test('then what nobody knows can be removed, and what is known stays', async () => {
    const { data } = (await ours.call('GET', '/retention/orphans')).json;
    const [known] = await ours.db.query<{ key: string }>(
      sql`select object_key as key from segments order by first_day desc limit 1`,
    );
    const keys: string[] = data.map(({ object_key }: { object_key: string }) => object_key);
    expect(keys.length).toBeGreaterThan(0);
    const store = await openObjectStore(s3.urlOf('copies'), ours.dataDir);
    const young = { store: { store }, graceSeconds: 3600 } as RetentionOptions;
    expect(await listOrphans(ours.db, young, testActor)).toEqual({ data: [] });
    await store.close();
    const object_keys = [...keys, known?.key, 'records/tenant=T/none.parquet', '_svcctl-store'];
    const body = { object_keys };
    const { json } = await ours.call('POST', '/retention/orphans/remove', { body });
    expect(json).toEqual({ removed: keys });
    expect((await ours.call('GET', '/retention/orphans')).json).toEqual({ data: [] });
    const audit = await ours.call('GET', '/audit?action=retention.orphans.remove&limit=1');
    expect(audit.json.data).toMatchObject([{ after: { object_keys: keys } }]);
  });
});

describe('a restored backup that is only to be looked at', () => {
  let ours: TestService;
  let drill: TestService;
  let fileId: string;
  const env = () => ({
    ...settings,
    SVC_COLD_GRACE_SECONDS: '3600',
    SVC_BLOB_URL: s3.urlOf('drill'),
  });
  beforeAll(async () => {
    ours = await startTestService(env());
    for (const from of [0, 100]) {
      await ingest(ours, '2001-03-01', from);
      expect(await ours.retain()).toMatchObject({ state: 'completed', moved_count: 20 });
    }
    fileId = (await exportAsJob(ours)).json.id;
    const left = (await exportAsJob(ours)).json.id;
    for (const id of [fileId, left]) {
      expect(await ended(ours, `/exports/${id}`)).toMatchObject({ state: 'completed' });
    }
    await ingest(ours, '2001-03-02', 200);
    // As the copy is started later, and was made while a run and an export were at work.
    const db = await createTestDatabase(ours.db);
    await db.query(sql`update object_removals set remove_after = now()`);
    await db.query(sql`update exports set expires_at = now() where id = ${fileId}`);
    await db.query(sql`
      update exports set state = 'queued', finished_at = null, expires_at = null, parts_total = null
      where id = ${left}`);
    await db.query(sql`insert into retention_runs (id, requested_by) values ('run_left', 'test')`);
    s3.clear();
    drill = await startTestService({ ...env(), SVC_STORE: 'read-only' }, undefined, {
      original: { ...ours, db },
    });
    await db.drop();
  });
  afterAll(async () => {
    await ours.stop();
    await drill.stop();
  });

  test('changes nothing in the store, whatever was left undone and whatever is asked', async () => {
    const verification = await drill.call('POST', '/retention/verify', { body: {} });
    for (const path of ['/retention/run', '/retention/adopt-store', '/exports/csv']) {
      const body = path === '/exports/csv' ? { tenant: 'T' } : {};
      const headers = { prefer: 'respond-async' };
      const refused = await drill.call('POST', path, { body, headers });
      expect(refused.json, path).toMatchObject({ status: 409, code: 'store_read_only' });
    }
    const cold = { tenant: 'T', from: '2001-03-01', to: '2001-03-01' };
    const kept = await drill.call('POST', '/enrichment/erase', { body: cold });
    expect(kept.json).toMatchObject({ status: 409, code: 'store_read_only' });
    const hot = { tenant: 'T', from: '2001-03-02', to: '2001-03-02' };
    const erased = await drill.call('POST', '/enrichment/erase', { body: hot });
    expect(erased.json).toMatchObject({ erased: { count: 20 } });
    await drill.call('DELETE', `/exports/${fileId}`);
    expect(await ended(drill, `/retention/verify/${verification.json.id}`)).toMatchObject({
      state: 'completed',
      problem_count: 0,
    });
    const page = await drill.call('GET', '/enrichment/records?tenant=T');
    expect(page.json.data).toHaveLength(40);
    const waiting = await drill.call('GET', '/retention/runs/run_left');
    expect(waiting.json).toMatchObject({ state: 'queued' });
    const writes = s3.requests.filter(({ method }) => !['GET', 'HEAD'].includes(method));
    expect(writes).toEqual([]);
    // The original goes on as if there were no copy.
    expect(await ours.retain()).toMatchObject({ state: 'completed', moved_count: 20 });
    expect((await ours.call('GET', `/exports/${fileId}/file`)).status).toBe(200);
  });

  test('it says so wherever one looks', async () => {
    expect(await storeOf(drill)).toMatchObject({
      state: 'read_only',
      problem: expect.stringContaining('SVC_STORE=read-only'),
    });
    expect(await readyOf(drill)).toMatchObject({
      status: 'ready',
      warnings: [{ code: 'store_read_only' }],
    });
    const plan = await drill.call('GET', '/retention/plan');
    expect(plan.json.store).toMatchObject({ state: 'read_only' });
    const metrics = (await drill.call('GET', '/~/metrics')).text;
    expect(metrics).toContain('svcctl_cold_store{state="read_only"} 1');
  });
});

describe('a store that cannot be used shows at the start', () => {
  const warnings = async (env: Record<string, string>) => {
    const service = await startTestService({ ...settings, ...env });
    try {
      return await vi.waitUntil(async () => (await readyOf(service)).warnings, patient);
    } finally {
      await service.stop();
    }
  };

  test('a bucket that is not there', async () => {
    expect(await warnings({ SVC_BLOB_URL: s3.urlOf('x', 'nowhere') })).toMatchObject([
      { code: 'cold_tier_unavailable' },
    ]);
  });

  test('credentials that may not write', async () => {
    s3.behave((method) => (method === 'PUT' ? 'deny' : 'pass'));
    try {
      expect(await warnings({ SVC_BLOB_URL: s3.urlOf('denied') })).toMatchObject([
        { code: 'cold_tier_unavailable' },
      ]);
    } finally {
      s3.behave(() => 'pass');
    }
  });

  test('a folder where there can be none', async () => {
    const url = pathToFileURL(join(import.meta.dirname, 'store.db.test.ts', 'below')).href;
    expect(await warnings({ SVC_BLOB_URL: url })).toMatchObject([
      { code: 'cold_tier_unavailable' },
    ]);
  });

  test('the store of another database, without a marker', async () => {
    await s3.seed('foreign', ['records/tenant=T/2001-01-01_2001-01-01_seg_x.parquet'], 'foreign');
    expect(await warnings({ SVC_BLOB_URL: s3.urlOf('foreign') })).toMatchObject([
      { code: 'store_fenced' },
    ]);
  });
});
