import pg from 'pg';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { writeOldJournal } from '../../test/database.ts';
import { testOnOneServer } from '../../test/one-server.ts';
import { useTestService } from '../../test/service.ts';
import { baseline } from '../platform/postgres/baseline.ts';
import { advisoryLocks } from '../platform/postgres/locks.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { seedDeliveries, seedEndpoint } from '../webhooks/dead-letters/testing/seed.ts';
import type { Finding } from './contract.ts';
import { listHeld, listOldSnapshots, readDurability, readVacuum } from './queries.ts';
import type { CheckName } from './values.ts';

// Without a drainer, so that deliveries stay as they are.
const service = useTestService({
  SVC_ROLES: 'api,retention,exports',
  SVC_RATE_LIMIT: '0',
  SVC_NOTIFY_DISK_PERCENT: '10',
  SVC_RETENTION_SCHEDULE: '17 3 * * *',
});
beforeAll(async () => {
  // There is nothing yet that somebody could be told of.
  expect(await found('notices')).toEqual([]);
  const records = ['a', 'b', 'c'].map((event_id) => ({
    tenant: 'TX',
    store: 'S',
    event_id,
    occurred_at: '2001-03-01T00:00:00Z',
    enrichment: {},
  }));
  const { json } = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(json.accepted).toBe(3);
});
beforeEach(async () => {
  await service.db.query(sql`delete from processes where id like 'other-%'`);
  await join('drainer', { roles: ['drainer'] });
});

/** Another process, as it would say of itself. */
async function join(name: string, row: Record<string, unknown> = {}): Promise<void> {
  const whole = {
    id: `other-${name}`,
    host: 'other',
    pid: 999_999,
    version: '0.1.0',
    node: 'v20',
    roles: ['retention'],
    settings: {},
    clock_ahead_millis: 0,
    store_state: 'own',
    ...row,
  };
  await service.db.query(sql`
    insert into processes (id, host, pid, version, node, command, roles, settings, clock_ahead_millis, store_state,
      disk_free_bytes, disk_total_bytes, since, seen_at)
    select id, host, pid, version, node, coalesce(command, 'serve'), roles, settings, clock_ahead_millis, store_state, disk_free_bytes,
      disk_total_bytes, coalesce(since, now()), coalesce(seen_at, now())
    from jsonb_populate_record(null::processes, ${JSON.stringify(whole)}::jsonb)`);
}

async function look(): Promise<Finding[]> {
  const answer = await service.call('GET', '/doctor');
  expect(answer.status, answer.text).toBe(200);
  return answer.json.findings;
}

/** What a check finds wrong. */
async function found(check: CheckName): Promise<Finding[]> {
  const of = (await look()).filter((finding) => finding.check === check);
  expect(of.length).toBeGreaterThan(0);
  return of.filter(({ severity }) => severity !== 'ok');
}

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

test('all is well but for what the tests do without', async () => {
  const wrong = (await look()).filter(({ severity }) => severity !== 'ok');
  expect(wrong.filter(({ severity }) => severity === 'unchecked')).toEqual([]);
  // The server of the tests writes nothing to its disk for certain, its disk may be nearly full, and nobody is told.
  const own = ['durability', 'disks', 'notices'];
  expect(wrong.map(({ check }) => check).filter((check) => !own.includes(check))).toEqual([]);
});

test('tells a role that nobody has', async () => {
  expect(await found('roles')).toEqual([]);
  await service.db.query(sql`delete from processes where id = 'other-drainer'`);
  expect(await found('roles')).toMatchObject([
    { severity: 'problem', found: 'no live process has the role drainer: webhooks wait' },
  ]);
  // svcctl drain ends by itself.
  await join('drain', { roles: ['drainer'], command: 'drain' });
  expect(await found('roles')).toHaveLength(1);
});

test('tells settings and releases on which processes do not agree', async () => {
  expect([...(await found('settings')), ...(await found('releases'))]).toEqual([]);
  await join('a', { version: '0.0.9', settings: { SVC_RETENTION_SCHEDULE: 'off' } });
  expect((await found('settings'))[0]?.found).toMatch(
    /^SVC_RETENTION_SCHEDULE differs: 17 3 \* \* \* at .+:\d+; off at other:999999$/,
  );
  expect((await found('releases'))[0]?.found).toMatch('0.0.9 at other:999999');
});

test('tells a clock that is off, and a disk with less free than OVERVIEW wants', async () => {
  const ofDisks = async () => (await found('disks')).filter((each) => /other-/.test(each.found));
  expect([...(await found('clocks')), ...(await ofDisks())]).toEqual([]);
  const disk = (free: number) => ({ disk_free_bytes: free, disk_total_bytes: 1000 });
  await join('a', { host: 'other-a', clock_ahead_millis: 5000, ...disk(100) });
  await join('b', { host: 'other-b', clock_ahead_millis: -90_000, ...disk(99) });
  await join('silent', { host: 'other-silent', seen_at: ago(200), ...disk(1) });
  expect((await found('clocks')).map((each) => [each.severity, each.found])).toEqual([
    ['warning', 'the clock of other-a:999999 is 5.0 s ahead of the database’s'],
    ['problem', 'the clock of other-b:999999 is 90.0 s behind the database’s'],
  ]);
  expect(await ofDisks()).toMatchObject([
    {
      severity: 'problem',
      found: expect.stringContaining('of other-b with the data folder has 9 %'),
    },
  ]);
});

testOnOneServer(
  'tells a process that was killed from one that the database hears again',
  async () => {
    expect(await found('processes')).toEqual([]);
    await service.db.query(sql`delete from processes where id = 'other-drainer'`);
    await join('a', { seen_at: ago(60), roles: ['drainer'] });
    expect(await found('processes')).toMatchObject([
      { severity: 'warning', found: expect.stringContaining('was killed') },
    ]);
    const client = new pg.Client({
      connectionString: service.db.url,
      application_name: 'svcctl:999999',
    });
    await client.connect();
    await client.query(`select pg_advisory_lock(${advisoryLocks.keys})`);
    expect(await listHeld(service.db)).toContainEqual({
      ...{ pid: 999999, connections: 1, locks: 1, heard_seconds: expect.any(Number) },
    });
    expect(await found('processes')).toEqual([]);
    // An outage of the database silences all of them, and none was gone.
    await service.db.query(sql`update processes set seen_at = ${ago(60)}`);
    expect([...(await found('processes')), ...(await found('roles'))]).toEqual([]);
    await client.end();
    // Whoever takes its place on the same machine makes it a thing of the past.
    await join('b', { pid: 4, since: ago(5), roles: ['drainer'] });
    expect(await found('processes')).toEqual([]);
  },
);

test('tells a schema that is behind or ahead of this release', async () => {
  expect(await found('schema')).toEqual([]);
  const migrated = (needs: string | null) =>
    service.db.query(sql`
      insert into schema_migrations (name, checksum, needs) values ('9999-x.sql', 'x', ${needs})
      on conflict (name) do update set needs = excluded.needs`);
  await migrated(baseline);
  expect(await found('schema')).toMatchObject([{ severity: 'warning' }]);
  await migrated(null);
  expect(await found('schema')).toMatchObject([{ severity: 'problem' }]);
  await service.db.query(sql`delete from schema_migrations where name = '9999-x.sql'`);
  const [row] = await service.db.query<{ checksum: string }>(
    sql`delete from schema_migrations where name = ${baseline} returning checksum`,
  );
  expect((await found('schema'))[0]?.found).toContain(`lacks 1 migration: ${baseline}`);
  // What the baseline replaced says the same as it does.
  await writeOldJournal(service.db);
  expect(await found('schema')).toEqual([]);
  await service.db.query(sql`delete from schema_migrations`);
  await service.db.query(
    sql`insert into schema_migrations (name, checksum) values (${baseline}, ${row?.checksum})`,
  );
});

testOnOneServer('tells settings under which a crash loses what was acknowledged', async () => {
  const fresh = () => openDatabase({ url: service.db.url, maxConnections: 1, onError: () => {} });
  const before = fresh();
  expect(await readDurability(before)).toMatchObject({ synchronous_commit: 'on' });
  await before.close();
  const name = new URL(service.db.url).pathname.slice(1);
  await service.db.pool.query(`alter database ${name} set synchronous_commit to off`);
  const db = fresh();
  expect(await readDurability(db)).toMatchObject({ synchronous_commit: 'off' });
  await db.close();
  await service.db.pool.query(`alter database ${name} reset synchronous_commit`);
});

testOnOneServer('tells an index that is invalid', async () => {
  expect(await found('indexes')).toEqual([]);
  const set = (isValid: boolean) =>
    service.db.query(sql`
      update pg_index set indisvalid = ${isValid} where indexrelid = 'sessions_token_idx'::regclass`);
  await set(false);
  expect((await found('indexes'))[0]?.found).toContain('sessions_token_idx is invalid');
  await set(true);
});

testOnOneServer('finds who holds back vacuum, and reads what autovacuum left', async () => {
  const own = () => listOldSnapshots(service.db, 0);
  await service.db.withConnection(async (connection) => {
    const [backend] = await connection.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
    const name = `backend ${backend?.pid},`;
    expect((await own()).filter(({ what }) => what.includes(name))).toEqual([]);
    await connection.client.query('begin; create table held (); ');
    expect((await own()).filter(({ what }) => what.includes(name))).toHaveLength(1);
    await connection.client.query('rollback');
  });
  expect(await readVacuum(service.db)).toMatchObject({ tables: [], ages: [] });
});

test('tells a store that belongs to another database', async () => {
  expect(await found('store')).toEqual([]);
  await join('a', { store_state: 'unavailable' });
  expect((await found('store'))[0]?.found).toContain('is unavailable for other:999999');
  const [fence] = await service.db.query<{ confirmed: string }>(
    sql`select confirmed from store_fence`,
  );
  await service.db.query(
    sql`update store_fence set confirmed = 'x', pending = '{}', version = version + 1`,
  );
  expect((await found('store'))[0]?.found).toContain('has gone on with another database');
  await service.db.query(
    sql`update store_fence set confirmed = ${fence?.confirmed}, version = version + 1`,
  );
});

test('tells leases that keep deliveries from being sent, and what OVERVIEW tells', async () => {
  const endpoint = await seedEndpoint(service.db, { tenant: 'TX' });
  await seedDeliveries(service.db, endpoint, 3, { status: 'queued' });
  expect([...(await found('leases')), ...(await found('troubles'))]).toEqual([]);
  const lease = (seconds: number) =>
    service.db.query(sql`
      update deliveries set lease = 1, leased_until = now() + make_interval(secs => ${seconds})
      where endpoint_id = ${endpoint.id}`);
  await lease(60);
  expect(await found('leases')).toEqual([]);
  await lease(86_400);
  expect((await found('leases'))[0]?.found).toContain('3 deliveries');
  await lease(-600);
  expect((await found('leases'))[0]?.found).toContain('3 deliveries');
  await seedDeliveries(service.db, endpoint, 2, { status: 'abandoned' });
  expect((await found('troubles'))[0]?.found).toBe('2 webhooks abandoned after the last attempt');
  // The process has run for longer than it may take to catch up, and its removals wait for the row.
  await service.db.query(sql`update processes set since = now() - interval '6 minutes'`);
  await service.db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    values ('TX', 'records/none', 'mov_1', now() - interval '10 minutes')`);
  await service.db.transaction(async (holder) => {
    await holder.query(sql`select from object_removals for update`);
    expect((await found('troubles'))[0]).toMatchObject({
      severity: 'problem',
      found: '1 object is still in the store that should have been removed',
    });
  });
  await service.db.query(sql`delete from object_removals`);
});

test('tells a certificate of an endpoint that ends soon', async () => {
  const { id } = await seedEndpoint(service.db, { tenant: 'CERT' });
  const ends = (days: number) =>
    service.db.query(sql`update webhook_endpoints set delivery = jsonb_build_object('tls', jsonb_build_object(
      'certificate', jsonb_build_object('expires_at', now() + make_interval(days => ${days})))) where id = ${id}`);
  const said = async () => (await found('troubles')).map((one) => `${one.found} · ${one.command}`);
  const sentence =
    '1 endpoint with a certificate that ends within 30 days · svcctl endpoints ls --json id,tenant,delivery';
  await ends(31);
  expect(await said()).not.toContain(sentence);
  await ends(29);
  expect(await said()).toContain(sentence);
  await service.db.query(sql`delete from webhook_endpoints where id = ${id}`);
});

test('tells counters that are not what they count', async () => {
  expect(await found('counters')).toEqual([]);
  await service.db.query(sql`update leaf_days set count = count + 1, bytes = bytes + 7`);
  expect((await found('counters'))[0]?.found).toMatch(
    /^TX › S › 2001-03-01: the counter says 4 hot records/,
  );
  await service.db.query(sql`update leaf_days set count = count - 1, bytes = bytes - 7`);
});

test('tells a scheduled run that was not begun, also when all processes are started again', async () => {
  const { db } = service;
  expect(await found('runs')).toEqual([]);
  await db.query(sql`
    insert into retention_runs (id, scheduled_for, requested_at, state, finished_at)
    values ('run_old', now() - interval '3 days', now() - interval '3 days', 'completed', now())`);
  await join('a', { since: ago(60) });
  // The service looks for what is due as well, and may begin it first.
  const tellsLate = () =>
    expect
      .poll(async () => {
        await db.query(sql`delete from retention_runs where id <> 'run_old'`);
        return (await found('runs'))[0]?.found;
      })
      .toMatch(/scheduled for .* 03:17 UTC was not begun/);
  await tellsLate();
  await db.query(sql`
    insert into retention_runs (id, requested_by, state, finished_at) values ('run_own', 'me', 'completed', now())`);
  expect(await found('runs')).toEqual([]);
  await db.query(sql`delete from retention_runs`);
  await db.query(sql`update schema_migrations set applied_at = applied_at - interval '3 days'`);
  await tellsLate();
  await db.query(sql`update schema_migrations set applied_at = applied_at + interval '3 days'`);
});

test('tells cold data that was not verified for long', async () => {
  expect(await found('runs')).toEqual([]);
  await service.db.query(sql`
    insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day, created_at)
    values ('TX', 'seg_1', 'records/none', 1, '', 1, 1, 0, '2001-03-01', '2001-03-01', now() - interval '63 days')`);
  const wrong = await found('runs');
  await service.db.query(sql`delete from segments`);
  expect(wrong).toMatchObject([
    { severity: 'warning', found: expect.stringContaining('1 segment not verified') },
  ]);
});

test('tells that older data has no backup, and how old the last one is', async () => {
  const { db } = service;
  expect(await found('backups')).toEqual([]);
  await db.query(sql`
    insert into incidents (id, tenant, type, occurred_at, body, created_at)
    values ('inc_old', 'TX', 'a.b', now(), '{}', now() - interval '49 hours')`);
  expect(await found('backups')).toMatchObject([
    { severity: 'warning', found: 'there is no backup that svcctl has made' },
  ]);
  await db.query(sql`delete from incidents where id = 'inc_old'`);
  expect(await found('backups')).toEqual([]);
  await db.query(sql`
    insert into stored_days (tenant, day, count, bytes, hot_count, hot_bytes, cold_count, cold_bytes)
    values ('', (now() at time zone 'UTC')::date - 4, 0, 0, 3, 3, 0, 0)`);
  expect(await found('backups')).toHaveLength(1);
  const overview = await service.call('GET', '/stats/overview');
  const overdue = expect.objectContaining({ kind: 'backup_overdue', count: 1, id: null });
  expect(overview.json.troubles).toContainEqual(overdue);
  await db.query(sql`delete from stored_days`);

  const backUp = (hours: number) =>
    db.query(sql`
      insert into backups (id, is_incremental, place, taken_at, finished_at, records, size_bytes)
      values (${`bak_${hours}`}, false, '/mnt/backup', now() - make_interval(hours => ${hours}::int), now(), 1, 1)`);
  await backUp(49);
  expect(await found('backups')).toMatchObject([
    { found: 'the last good backup is 2 days old (/mnt/backup)' },
  ]);
  await backUp(47);
  expect(await found('backups')).toEqual([]);
});

test('tokens that nobody has used for 90 days are named, with what revokes them', async () => {
  const { db } = service;
  const { id } = await service.makeToken({ name: 'forgotten', preset: 'curator' });
  const lost = await service.makeToken({ preset: 'curator' });
  expect(await found('tokens')).toEqual([]);
  await db.query(sql`
    update access_tokens set created_at = now() - interval '91 days' where id in (${id}, ${lost.id})`);
  await service.call('DELETE', `/tokens/${lost.id}`);
  expect(await found('tokens')).toMatchObject([
    {
      id,
      severity: 'warning',
      command: `svcctl tokens revoke ${id}`,
      found: 'nobody has used the token "forgotten" for 90 days',
    },
  ]);
  await service.call('DELETE', `/tokens/${id}`);
  expect(await found('tokens')).toEqual([]);
});

test('tells that nobody is told of trouble, where somebody is told of a tenant or of exports alone, too', async () => {
  const tell = async (more: object) => {
    const body = { kind: 'webhook', url: 'https://pager.example/in', ...more };
    return (await service.call('POST', '/notify/targets', { body })).json.id;
  };
  const untold = [{ severity: 'warning', found: 'nobody is told of trouble' }];
  expect(await found('notices')).toMatchObject(untold);
  await tell({ tenant: 'TX' });
  await tell({ kinds: ['export_done'] });
  expect(await found('notices')).toMatchObject(untold);
  const id = await tell({ kinds: ['export_done', 'disk_nearly_full'] });
  expect(await found('notices')).toEqual([]);
  await service.call('PATCH', `/notify/targets/${id}`, { body: { enabled: false } });
  expect(await found('notices')).toMatchObject(untold);
  // A Prometheus tells people by its alerts, once it may read the metrics.
  expect((await service.call('GET', '/~/metrics', { token: null })).status).toBe(401);
  expect(await found('notices')).toMatchObject(untold);
  expect((await service.call('GET', '/~/metrics')).status).toBe(200);
  expect(await found('notices')).toEqual([]);
});

test('the status has what is found quickly, and what cannot be checked says so', async () => {
  await join('a', { clock_ahead_millis: 5000 });
  const { json } = await service.call('GET', '/status');
  const checks = json.findings.map(({ check }: Finding) => check);
  expect(checks).toContain('clocks');
  expect(checks).not.toContain('backups');
  await service.db.query(sql`alter table leaf_tenants rename to hidden`);
  const counters = await found('counters');
  await service.db.query(sql`alter table hidden rename to leaf_tenants`);
  expect(counters).toMatchObject([{ severity: 'unchecked', remedy: null }]);
});
