import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import sql, { raw } from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { runOn } from '../../test/citus.ts';
import { writeOldJournal } from '../../test/database.ts';
import { testRarely } from '../../test/runs.ts';
import { startS3 } from '../../test/s3.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import { randomText } from '../kernel/ids.ts';
import { createStoreFence } from '../platform/objects/fence.ts';
import { createFileStore } from '../platform/objects/file-system.ts';
import { baseline, lastReplaced, replaced } from '../platform/postgres/baseline.ts';
import type { Database } from '../platform/postgres/database.ts';
import { listTables, migrate } from '../platform/postgres/migrate.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { backUp } from './backup.ts';
import { type RestoreOptions, restoreBackup } from './restore.ts';
import {
  ingest,
  manifestOf,
  manifestPath,
  optionsFor,
  toolsFor,
  untilMoved,
} from './testing/backups.ts';

const passphrase = 'correct horse battery staple';
let service: TestService;
let [place, id] = ['', ''];
/** A backup of the same place that has no objects. */
let early: string;
beforeAll(async () => {
  service = await startTestService();
  place = await mkdtemp(join(tmpdir(), 'svcctl-backup-'));
  await ingest(service, { month: '2001-03', count: 60 });
  const tools = toolsFor({ DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir });
  early = (await backUp(tools, optionsFor(place))).id;
  await untilMoved(service, '2001-04-01');
  await ingest(service, { month: '2001-04', count: 70 });
  const child = await service.makeToken({ preset: 'admin' });
  const token = { token: child.token, body: { name: 'grandchild', preset: 'pipeline' } };
  expect((await service.call('POST', '/tokens', token)).status).toBe(201);
  const endpoint = { tenant: 'T', url: 'https://example.com/', enabled: false };
  expect((await service.call('POST', '/webhook/endpoints', { body: endpoint })).status).toBe(201);
  const incident = { tenant: 'T', type: 'incident.created', data: {} };
  expect((await service.call('POST', '/incidents', { body: incident })).status).toBe(202);
  const table = await service.call('GET', '/iceberg/v1/namespaces/svcctl/tables/records');
  expect(table.status, table.text).toBe(200);
  id = (await backUp(tools, optionsFor(place, { passphrase }))).id;
});
afterAll(async () => {
  await service.stop();
  await rm(place, { recursive: true, force: true });
});

/** An empty database, and an empty data folder. */
let target: { url: string; name: string; dataDir: string; db: Database };
beforeEach(async () => {
  const name = `empty_${randomText(12).toLowerCase()}`;
  await runOn(admin(), [`create database ${name} template template0 strategy file_copy`]);
  const url = Object.assign(new URL(inject('postgresUrl')), { pathname: `/${name}` }).href;
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-restored-'));
  const db = openDatabase({ url, maxConnections: 4, onError: () => {} });
  target = { url, name, dataDir, db };
});
afterEach(async () => {
  await target.db.close();
  await runOn(admin(), [`drop database ${target.name} with (force)`]);
  await rm(target.dataDir, { recursive: true, force: true });
});

const admin = () => Object.assign(new URL(inject('postgresUrl')), { pathname: '/postgres' }).href;

const restore = (more: Partial<RestoreOptions> = {}, env: Record<string, string> = {}) =>
  restoreBackup(toolsFor({ DATABASE_URL: target.url, SVC_DATA_DIR: target.dataDir, ...env }), {
    from: place,
    isDrill: false,
    isAdopting: false,
    skipsDamaged: false,
    // To derive a key of it takes longer than all else.
    findPassphrase: async () => null,
    ...more,
  });

/** What a restore adds to by itself, or leaves out on purpose, and what the service goes on to write meanwhile. */
const notCompared = [
  ...['schema_migrations', 'backups', 'restores', 'restored_files', 'sessions', 'sign_in_links'],
  ...['export_links', 'limit_use', 'verifications', 'verified_tenants', 'work_shares', 'lanes'],
  ...['audit_log', 'audit_links', 'audit_chain', 'audit_seals', 'stored_days', 'processes'],
  ...['notices', 'iceberg_snapshots', 'iceberg_manifests', 'portal_links', 'approvals'],
];

/** The rows of all tables, as a text for each. */
async function contentOf(db: Database): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for (const table of await listTables()) {
    if (notCompared.includes(table)) continue;
    // A verification notes when a segment was found right.
    const row = table === 'segments' ? `to_jsonb(t) - 'verified_at'` : 'to_jsonb(t)';
    const [found] = await db.query<{ text: string | null }>(sql`
      select string_agg((${raw(row)})::text, chr(10) order by (${raw(row)})::text collate "C") as text from ${raw(table)} t`);
    content[table] = found?.text ?? '';
  }
  return content;
}

type Changeable = { format: number; migrations: { name: string; checksum: string }[] };

/** Has the backup say something else of itself. Returns what puts its manifest back. */
async function changeManifest(
  change: (manifest: Changeable) => void,
): Promise<() => Promise<void>> {
  const path = await manifestPath(place, id);
  const text = await readFile(path, 'utf8');
  const manifest = JSON.parse(text).backup;
  change(manifest);
  const body = JSON.stringify(manifest);
  const sha256 = createHash('sha256').update(body).digest('hex');
  await writeFile(path, `{"sha256":"${sha256}","backup":${body}}\n`);
  return () => writeFile(path, text);
}

/** Packs the backup as the first form was, by gzip, and each month of records in two files, which it returns. */
async function packByGzip(): Promise<{ paths: string[]; mend: () => Promise<void> }> {
  const { tables, objects } = await manifestOf(place, id);
  const paths: string[] = [];
  const pack = async (key: string, rows: readonly string[]) => {
    const bytes = gzipSync(rows.join(''));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const file = { key: key.replace(/[^/]+$/, `${sha256}.gz`), rows: rows.length, sha256 };
    await writeFile(join(place, file.key), bytes);
    return { ...file, size_bytes: bytes.length };
  };
  const readLines = async (key: string) =>
    brotliDecompressSync(await readFile(join(place, key)))
      .toString()
      .split(/(?<=\n)/);
  for (const part of tables.flatMap(({ parts }) => parts)) {
    const [{ key } = { key: '' }] = part.files;
    const lines = await readLines(key);
    const middle = part.month === undefined ? lines.length : lines.length / 2;
    const files = [await pack(key, lines.slice(0, middle))];
    if (part.month !== undefined) files.push(await pack(key, lines.slice(middle)));
    if (part.month !== undefined) paths.push(...files.map((file) => join(place, file.key)));
    Object.assign(part, { files });
  }
  const [{ key } = { key: '' }] = objects.lists;
  const lists = [await pack(key, await readLines(key))];
  const form = { format: 1, tables, objects: { ...objects, lists } };
  return { paths, mend: await changeManifest((manifest) => void Object.assign(manifest, form)) };
}

/** The months of records, with the key of each and the times that it takes. */
const monthsSql = sql`select inhrelid::regclass::text as name, pg_get_expr(relpartbound, inhrelid) as times,
    conname, pg_get_constraintdef(c.oid) as key
  from pg_inherits join pg_class on pg_class.oid = inhrelid left join pg_constraint c on conrelid = inhrelid and contype = 'p'
  where inhparent = 'enrichment_records'::regclass and relname like '%_2001_04'`;

const auditSql = sql`select l.place, encode(l.hash, 'hex') as hash, e.id, e.action
  from audit_links l join audit_log e on e.id = l.entry_id order by l.place`;

test('a restored database has all rows, its own store and key, and an audit chain that goes on', async () => {
  const before = await contentOf(service.db);
  expect(before.enrichment_records).toContain('2001-04');
  expect(before.deliveries).not.toBe('');
  const chain = await service.db.query(auditSql);
  const restored = await restore({ findPassphrase: async () => passphrase });
  expect(restored).toMatchObject({ id, records: 130, objects_brought: 2, secret_key: 'fits' });
  expect(restored.deliveries_open).toBe(1);
  expect(restored.verification).toMatchObject({ state: 'completed', problem_count: 0 });
  expect(await contentOf(target.db)).toEqual(before);
  // What readers of Iceberg were told lies in files that no backup has.
  const told = sql`select id from iceberg_snapshots`;
  expect(await service.db.query(told)).toHaveLength(1);
  expect(await target.db.query(told)).toEqual([]);
  const months = await service.db.query(monthsSql);
  expect(months).toMatchObject([{ key: expect.stringContaining('PRIMARY KEY') }]);
  expect(await target.db.query(monthsSql)).toEqual(months);
  const own = await target.db.query<{ action: string }>(auditSql);
  expect(own.slice(0, chain.length)).toEqual(chain);
  expect(own.slice(chain.length).map(({ action }) => action)).toEqual(['backup.restore']);
  const key = join(target.dataDir, 'secret-key');
  expect(await readFile(key, 'utf8')).toBe(
    await readFile(join(service.dataDir, 'secret-key'), 'utf8'),
  );
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  // It is a database of its own, and leaves the backups of the other alone.
  const tools = toolsFor({ DATABASE_URL: target.url, SVC_DATA_DIR: target.dataDir });
  const made = await backUp(tools, optionsFor(place, { keep: 1 }));
  expect(made.removed).toBe(0);
  await rm(join(place, 'backups', made.database), { recursive: true });
  // What was restored once is not restored a second time.
  await expect(restore()).rejects.toMatchObject({ code: 'database_not_empty' });
});

test('a run of a schedule does not go on after a restore: its folder may be whole by now', async () => {
  const from = join(service.dataDir, 'runs');
  await service.db.query(sql`
    insert into exports (tenant, id, format, request, options, file_name, slice, recorded_before, requested_by,
      token_id, not_before, due_at, schedule_id)
    select 'T', id, 'csv', '{}', '{}', 'f', '{}', now(), 'test', 'tok', 'infinity', 'infinity', schedule
    from (values ('exp_1', 'sch_1'), ('exp_2', null)) as job(id, schedule)`);
  const env = { DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir };
  await backUp(toolsFor(env), optionsFor(from));
  await service.db.query(sql`delete from exports`);
  await restore({ from });
  const states = sql`select state from exports order by id`;
  expect(await target.db.query(states)).toMatchObject([{ state: 'failed' }, { state: 'queued' }]);
});

test('a database that holds anything is refused, and stays as it was', async () => {
  const before = await contentOf(service.db);
  const env = { DATABASE_URL: service.db.url };
  await expect(restore({}, env)).rejects.toMatchObject({ code: 'database_not_empty' });
  expect(await contentOf(service.db)).toEqual(before);
  await migrate(service.db);
});

testRarely('a restore killed after the migrations goes on, but not over new rows', async () => {
  const { migrations } = await manifestOf(place, id);
  const only = new Set(migrations.map(({ name }) => name));
  expect(await migrate(target.db, undefined, { only, isRestoring: true })).toContain(baseline);
  await target.db.query(
    sql`insert into leaf_tenants (tenant, count, bytes, digest, first_at, last_at) values ('T', 1, 1, 0, now(), now())`,
  );
  await expect(restore()).rejects.toMatchObject({
    code: 'database_not_empty',
    detail: expect.stringContaining('leaf_tenants'),
  });
  await target.db.query(sql`delete from leaf_tenants`);
  expect((await restore()).verification.problem_count).toBe(0);
});

/** What the first of the migrations, the baseline, stands for. */
const old = [...replaced].map(([name, checksum]) => ({ name, checksum }));

testRarely('a backup of the last build before the baseline is restored', async () => {
  const mend = await changeManifest(({ migrations }) => {
    migrations.splice(0, 1, ...old.slice(0, 20));
  });
  await expect(restore()).rejects.toMatchObject({
    code: 'backup_older',
    detail: expect.stringMatching(`${old[20]?.name} .*"schema ${lastReplaced}"`),
  });
  expect(await target.db.query(sql`select from pg_tables where schemaname = 'public'`)).toEqual([]);
  await mend();
  const mendAgain = await changeManifest(({ migrations }) => {
    migrations.splice(0, 1, ...old);
  });
  expect((await restore()).verification.problem_count).toBe(0);
  expect(await contentOf(target.db)).toEqual(await contentOf(service.db));
  await mendAgain();
});

testRarely('a restore that the last build before the baseline has begun goes on', async () => {
  const mend = await changeManifest(({ migrations }) => {
    migrations.splice(0, 1, ...old);
  });
  await migrate(target.db);
  await writeOldJournal(target.db, new Map([...replaced].slice(0, 20)));
  await expect(restore()).rejects.toMatchObject({ code: 'database_not_empty' });
  await writeOldJournal(target.db);
  expect((await restore()).verification.problem_count).toBe(0);
  await mend();
});

test('a half restored database serves nobody, and the next restore goes on', async () => {
  const { tables } = await manifestOf(place, id);
  const file = tables.find(({ name }) => name === 'enrichment_records')?.parts[0]?.files[0];
  const path = join(place, file?.key ?? '');
  const bytes = await readFile(path);
  await writeFile(path, Buffer.from(bytes).fill(0, bytes.length - 4));
  await expect(restore()).rejects.toMatchObject({ code: 'backup_damaged' });
  await expect(migrate(target.db)).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringContaining('half restored'),
  });
  const loaded = await target.db.query(
    sql`select path, xmin::text from restored_files order by path`,
  );
  expect(loaded.length).toBeGreaterThan(0);
  expect(await target.db.query(sql`select from enrichment_records`)).toEqual([]);
  await writeFile(path, bytes);
  expect((await restore()).verification.problem_count).toBe(0);
  expect(await contentOf(target.db)).toEqual(await contentOf(service.db));
  expect(await migrate(target.db)).toEqual([]);
});

test('a backup of the first form is restored, and goes on behind the files of a month that are loaded', async () => {
  const { paths, mend } = await packByGzip();
  expect(paths).toHaveLength(2);
  const [first = '', last = ''] = paths;
  const bytes = await readFile(last);
  await writeFile(last, bytes.subarray(4));
  const rows = () =>
    target.db.query(sql`select xmin::text, event_id from enrichment_records_2001_04`);
  // The failure of the one may come before the other is stored.
  const fail = async () => {
    await expect(restore()).rejects.toMatchObject({ code: 'backup_damaged' });
    return (await rows()).length > 0;
  };
  await vi.waitUntil(fail, { timeout: 60_000 });
  const loaded = await rows();
  expect(loaded).toHaveLength(35);
  await rm(first);
  await writeFile(last, bytes);
  expect((await restore()).verification.problem_count).toBe(0);
  expect(await rows()).toEqual(expect.arrayContaining(loaded));
  expect(await contentOf(target.db)).toEqual(await contentOf(service.db));
  expect(await target.db.query(monthsSql)).toEqual(await service.db.query(monthsSql));
  await mend();
});

test('a backup of a form to come is refused', async () => {
  const mend = await changeManifest((manifest) => {
    manifest.format = 3;
  });
  await expect(restore({ id })).rejects.toMatchObject({ code: 'backup_newer' });
  await mend();
});

test('with a damaged object the refusal says what works, and --skip-damaged restores the rest', async () => {
  const { database } = await manifestOf(place, id);
  const folder = join(place, 'objects', database);
  const [name = ''] = (await readdir(folder, { recursive: true }))
    .filter((each) => each.endsWith('.parquet'))
    .sort();
  const path = join(folder, name);
  const bytes = await readFile(path);
  // The object of the service may be a link to this file.
  await rm(path);
  await writeFile(path, Buffer.from(bytes).fill(0, bytes.length - 4));
  const refused = await restore().catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'backup_damaged',
    detail: expect.stringMatching(/--skip-damaged.*empty database/s),
  });
  expect(refused).toMatchObject({ detail: expect.stringContaining(early) });
  expect(refused).toMatchObject({ detail: expect.not.stringContaining('svcctl backup ls') });
  const other = await restore({ id: early }).catch((error: unknown) => error);
  expect(other).toMatchObject({
    code: 'database_not_empty',
    detail: expect.stringMatching(/--skip-damaged.*empty database/s),
  });
  const restored = await restore({ skipsDamaged: true });
  expect(restored).toMatchObject({ id, objects_damaged: [name] });
  expect(restored.verification.problems).toMatchObject([
    { kind: 'object_missing', object_key: name },
  ]);
  expect(await contentOf(target.db)).toEqual(await contentOf(service.db));
  await writeFile(path, bytes);
});

test('a damaged file of rows names the backups that do without it', async () => {
  const { tables } = await manifestOf(place, id);
  const records = tables.find(({ name }) => name === 'enrichment_records');
  const path = join(place, records?.parts[0]?.files[0]?.key ?? '');
  const bytes = await readFile(path);
  await writeFile(path, Buffer.from(bytes).fill(0, bytes.length - 4));
  await expect(restore({ skipsDamaged: true })).rejects.toMatchObject({
    code: 'backup_damaged',
    detail: expect.stringContaining(early),
  });
  await writeFile(path, bytes);
});

test('a backup of a newer release is refused, and one under another passphrase', async () => {
  const mend = await changeManifest(({ migrations }) => {
    migrations.push({ name: '9999-later.sql', checksum: 'c' });
  });
  await expect(restore()).rejects.toMatchObject({ code: 'backup_newer' });
  await mend();
  const findPassphrase = async () => `${passphrase}!`;
  await expect(restore({ findPassphrase })).rejects.toMatchObject({ code: 'passphrase_wrong' });
  const tables = await target.db.query(sql`select from pg_tables where schemaname = 'public'`);
  expect(tables).toEqual([]);
  expect(await readdir(target.dataDir)).not.toContain('secret-key');
});

test('on the store of the living original a restored database only reads, until it takes it over', async () => {
  const cold = join(service.dataDir, 'cold');
  const env = { SVC_BLOB_URL: pathToFileURL(cold).href };
  const store = createFileStore(cold);
  const marker = await store.marker.read();
  const [object = ''] = (await readdir(join(cold, 'records'), { recursive: true })).filter((name) =>
    name.endsWith('.parquet'),
  );
  const lost = join(cold, 'records', object);
  const away = join(service.dataDir, 'away');
  await rename(lost, away);
  const restored = await restore({}, env);
  expect(restored).toMatchObject({ objects_brought: 0, objects_missing: 1 });
  expect(restored.verification.problems).toMatchObject([{ kind: 'object_missing' }]);
  expect(await store.marker.read()).toBe(marker);
  await rename(away, lost);
  await fenceOf(service.db).advance();
  const elsewhere = { state: 'elsewhere' };
  expect(await fenceOf(target.db).look()).toMatchObject(elsewhere);
  await expect(fenceOf(target.db).advance()).rejects.toMatchObject({ code: 'store_fenced' });

  function fenceOf(db: Database) {
    return createStoreFence({ db, store, isKnown: async () => true });
  }
});

testRarely('a restore waits for a store that is away', async () => {
  const s3 = await startS3();
  let time = 0;
  const told: string[] = [];
  s3.behave((method, path) =>
    method === 'PUT' && path.includes('/records/') && told.length === 0 ? 'fail' : 'pass',
  );
  const env = { SVC_BLOB_URL: s3.urlOf('restored') };
  const tools = toolsFor({ DATABASE_URL: target.url, SVC_DATA_DIR: target.dataDir, ...env });
  const restored = await restoreBackup(
    {
      ...tools,
      onWarning: (text) => told.push(text),
      now: () => time,
      sleep: async () => {
        time += 10_000;
      },
    },
    {
      ...{ from: place, isDrill: false, isAdopting: false, skipsDamaged: false },
      findPassphrase: async () => null,
    },
  );
  expect(restored).toMatchObject({ objects_brought: 2, verification: { problem_count: 0 } });
  expect(told[0]).toMatch(/^Waiting for s3:/);
  await s3.close();
});

test('a restore that adopts the store puts back what it lacks', async () => {
  const cold = await mkdtemp(join(tmpdir(), 'svcctl-cold-'));
  const store = createFileStore(cold);
  await store.marker.swap(null, 'somebody');
  const env = { SVC_BLOB_URL: pathToFileURL(cold).href };
  const restored = await restore({ isAdopting: true }, env);
  expect(restored).toMatchObject({ objects_brought: 2, objects_missing: 0 });
  expect(restored.verification.problem_count).toBe(0);
  const fence = createStoreFence({ db: target.db, store, isKnown: async () => false });
  expect(await fence.look()).toMatchObject({ state: 'own' });
  await rm(cold, { recursive: true });
});
