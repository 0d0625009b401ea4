import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, inject, test, vi } from 'vitest';
import { copyCluster } from '../../test/copy-cluster.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import type { Database } from '../platform/postgres/database.ts';
import { startEmbeddedPostgres } from '../platform/postgres/embedded.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { ingest, untilMoved } from './testing/backups.ts';

test.skipIf(inject('preparedCluster') === '')(
  'a database that WAL sets back within the window finds every object of that moment',
  async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svcctl-pit-'));
    // PostgreSQL may run as another user than the test.
    await chmod(dir, 0o755);
    const archive = await mkdtemp(join(tmpdir(), 'svcctl-archive-'));
    await chmod(archive, 0o777);
    await copyCluster(inject('preparedCluster'), join(dir, 'postgres'));
    const first = await startPostgres(dir, {
      archive_mode: 'on',
      archive_command: `cp %p ${archive}/%f`,
    });
    // The data folder, with the key and the store of cold data, outlives the database.
    const data = { SVC_DATA_DIR: await mkdtemp(join(tmpdir(), 'svcctl-data-')) };
    const service = await startTestService({ ...data, DATABASE_URL: first.url });
    expect(await checkOf(service)).toBeUndefined();
    const setWindow = (seconds: string) =>
      first.db.query(sql`
        update processes set settings = (settings::jsonb || jsonb_build_object('SVC_COLD_GRACE_SECONDS', ${seconds}::text))::json`);
    await setWindow('900');
    expect(await checkOf(service)).toContain('stay for 15 minutes only');
    await setWindow('86400');
    await ingest(service, { month: '2001-03', count: 60 });
    await untilMoved(service, '2001-04-01');

    const restored = await mkdtemp(join(tmpdir(), 'svcctl-pit-'));
    await chmod(restored, 0o755);
    await copyWhileUp(first.db, dir, restored);
    await ingest(service, { month: '2001-03', count: 30, text: 'late' });
    await untilMoved(service, '2001-04-01');
    const keys = await listKeys(first.db);
    await first.db.query(sql`select pg_create_restore_point('wanted')`);

    // What follows replaces the objects of that moment.
    await ingest(service, { month: '2001-03', count: 30, text: 'later' });
    await untilMoved(service, '2001-04-01');
    const now = await listKeys(first.db);
    expect(now.some((key) => !keys.includes(key))).toBe(true);
    expect(keys.some((key) => !now.includes(key))).toBe(true);
    const listDue = () =>
      first.db.query(sql`select from object_removals where remove_after <= now()`);
    await vi.waitUntil(async () => (await listDue()).length === 0, { timeout: 60_000 });
    await untilArchived(first.db);
    await service.stop();
    await first.stop();

    await writeFile(join(restored, 'postgres/recovery.signal'), '', { mode: 0o666 });
    await chmod(join(restored, 'postgres/recovery.signal'), 0o666);
    const second = await startPostgres(restored, {
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_name: 'wanted',
      recovery_target_action: 'promote',
    });
    const isUp = () => second.db.query<{ is: boolean }>(sql`select not pg_is_in_recovery() as is`);
    await vi.waitUntil(async () => (await isUp())[0]?.is, { timeout: 60_000 });
    expect(await listKeys(second.db)).toEqual(keys);
    const copy = await startTestService({ ...data, DATABASE_URL: second.url });
    expect((await copy.call('POST', '/retention/adopt-store')).json.state).toBe('own');
    const { id } = (await copy.call('POST', '/retention/verify', { body: {} })).json;
    const read = async () => (await copy.call('GET', `/retention/verify/${id}`)).json;
    await vi.waitUntil(async () => (await read()).state === 'completed', { timeout: 60_000 });
    const kinds = (await read()).problems.map(({ kind }: { kind: string }) => kind);
    // Only what came later lies there and is known to nobody.
    expect(new Set(kinds)).toEqual(new Set(['object_orphan']));
    const { json } = await copy.call('GET', '/enrichment/datasets?level=tenant');
    const counts = json.data.map(({ count }: { count: number }) => count);
    expect(counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(90);
    await copy.stop();
    await second.stop();
    for (const each of [dir, restored, archive, data.SVC_DATA_DIR])
      await rm(each, { recursive: true, force: true });
  },
);

async function startPostgres(dataDir: string, settings: Record<string, string>) {
  const options = { dataDir, fsync: false, log: () => {}, settings };
  const postgres = await startEmbeddedPostgres(options);
  const db = openDatabase({ url: postgres.url, maxConnections: 2, onError: () => {} });
  return {
    url: postgres.url,
    db,
    async stop() {
      await db.close();
      await postgres.stop();
    },
  };
}

/** Copies the files of a server that goes on, as pg_basebackup does, which the package does not have. */
async function copyWhileUp(db: Database, from: string, to: string): Promise<void> {
  await db.withConnection(async (connection) => {
    await connection.query(sql`select pg_backup_start('test', true)`);
    await copyCluster(join(from, 'postgres'), join(to, 'postgres'));
    const [stopped] = await connection.query<{ labelfile: string }>(
      sql`select labelfile from pg_backup_stop(false)`,
    );
    const label = join(to, 'postgres/backup_label');
    await writeFile(label, stopped?.labelfile ?? '');
    await chmod(label, 0o666);
  });
  await rm(join(to, 'postgres/postmaster.pid'), { force: true });
}

async function untilArchived(db: Database): Promise<void> {
  const [row] = await db.query<{ name: string }>(
    sql`select pg_walfile_name(pg_switch_wal()) as name`,
  );
  const isDone = async () => {
    const [last] = await db.query<{ is: boolean }>(
      sql`select last_archived_wal >= ${row?.name} as is from pg_stat_archiver`,
    );
    return last?.is === true;
  };
  await vi.waitUntil(isDone, { timeout: 60_000 });
}

async function listKeys(db: Database): Promise<string[]> {
  const rows = await db.query<{ key: string }>(
    sql`select object_key as key from segments order by 1`,
  );
  return rows.map(({ key }) => key);
}

/** What the doctor says of WAL that is archived. */
async function checkOf(service: TestService): Promise<string | undefined> {
  const { json } = await service.call('GET', '/doctor');
  const found: { check: string; found: string }[] = json.findings ?? [];
  return found.find((each) => /WAL is archived/.test(each.found))?.found;
}
