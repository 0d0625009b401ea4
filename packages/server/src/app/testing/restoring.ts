import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql, { raw } from 'sql-template-tag';
import { expect, inject } from 'vitest';
import { runOn } from '../../../test/citus.ts';
import { startTestService } from '../../../test/service.ts';
import { use } from '../../../test/use.ts';
import { randomText } from '../../kernel/ids.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { listTables } from '../../platform/postgres/migrate.ts';
import { openDatabase } from '../../platform/postgres/open-database.ts';
import { backUp } from '../backup.ts';
import { type RestoreOptions, restoreBackup } from '../restore.ts';
import { ingest, manifestPath, optionsFor, toolsFor, untilMoved } from './backups.ts';

export const passphrase = 'correct horse battery staple';

/** A service and two backups of it: `early`, which has no objects, and `id`. */
export const useBackedUp = () => use(backUpTwice, (made) => made.stop());

async function backUpTwice() {
  const service = await startTestService();
  const place = await mkdtemp(join(tmpdir(), 'svcctl-backup-'));
  await ingest(service, { month: '2001-03', count: 60 });
  const tools = toolsFor({ DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir });
  const early = (await backUp(tools, optionsFor(place))).id;
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
  const { id } = await backUp(tools, optionsFor(place, { passphrase }));
  return {
    service,
    place,
    early,
    id,
    /** Has the backup say something else of itself. Returns what puts its manifest back. */
    async changeManifest(change: (manifest: Changeable) => void): Promise<() => Promise<void>> {
      const path = await manifestPath(place, id);
      const text = await readFile(path, 'utf8');
      const manifest = JSON.parse(text).backup;
      change(manifest);
      const body = JSON.stringify(manifest);
      const sha256 = createHash('sha256').update(body).digest('hex');
      await writeFile(path, `{"sha256":"${sha256}","backup":${body}}\n`);
      return () => writeFile(path, text);
    },
    async stop() {
      await service.stop();
      await rm(place, { recursive: true, force: true });
    },
  };
}

/** An empty database, and an empty data folder, before each test. */
export const useEmptyDatabase = (from: { readonly place: string }) =>
  use(
    () => createEmpty(from),
    (made) => made.stop(),
    'each',
  );

async function createEmpty(backups: { readonly place: string }) {
  const name = `empty_${randomText(12).toLowerCase()}`;
  await runOn(admin(), [`create database ${name} template template0 strategy file_copy`]);
  const url = Object.assign(new URL(inject('postgresUrl')), { pathname: `/${name}` }).href;
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-restored-'));
  const db = openDatabase({ url, maxConnections: 4, onError: () => {} });
  return {
    url,
    dataDir,
    db,
    restore: (more: Partial<RestoreOptions> = {}, env: Record<string, string> = {}) =>
      restoreBackup(
        toolsFor({ DATABASE_URL: url, SVC_DATA_DIR: dataDir, ...keyFor(more), ...env }),
        {
          from: backups.place,
          isDrill: false,
          isAdopting: false,
          skipsDamaged: false,
          // To derive a key of it takes longer than all else.
          findPassphrase: async () => null,
          ...more,
        },
      ),
    async stop() {
      await db.close();
      await runOn(admin(), [`drop database ${name} with (force)`]);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Without the passphrase of the key it takes another key. */
const keyFor = ({ findPassphrase }: Partial<RestoreOptions>) =>
  findPassphrase === undefined ? { SVC_SECRET_KEY: otherKey } : {};
/** Any key that is not the backup's. */
export const otherKey = randomBytes(32).toString('base64');

const admin = () => Object.assign(new URL(inject('postgresUrl')), { pathname: '/postgres' }).href;

/** What a restore adds to by itself, or leaves out on purpose, and what the service goes on to write meanwhile. */
const notCompared = [
  ...['schema_migrations', 'backups', 'restores', 'restored_files', 'sessions', 'sign_in_links'],
  ...['export_links', 'limit_use', 'verifications', 'verified_tenants', 'work_shares', 'lanes'],
  ...['audit_log', 'audit_links', 'audit_chain', 'audit_seals', 'stored_days', 'processes'],
  ...['notices', 'iceberg_snapshots', 'iceberg_manifests', 'portal_links', 'approvals'],
];

/** The rows of all tables, as a text for each. */
export async function contentOf(db: Database): Promise<Record<string, string>> {
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

/** The months of records, with the key of each and the times that it takes. */
export const monthsSql = sql`select inhrelid::regclass::text as name, pg_get_expr(relpartbound, inhrelid) as times,
    conname, pg_get_constraintdef(c.oid) as key
  from pg_inherits join pg_class on pg_class.oid = inhrelid left join pg_constraint c on conrelid = inhrelid and contype = 'p'
  where inhparent = 'enrichment_records'::regclass and relname like '%_2001_04'`;
