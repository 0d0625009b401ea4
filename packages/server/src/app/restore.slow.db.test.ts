import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { startS3 } from '../../test/s3.ts';
import { createStoreFence } from '../platform/objects/fence.ts';
import { createFileStore } from '../platform/objects/file-system.ts';
import { baseline } from '../platform/postgres/baseline.ts';
import type { Database } from '../platform/postgres/database.ts';
import { migrate } from '../platform/postgres/migrate.ts';
import { findRestore } from '../platform/restore-mark.ts';
import { backUp } from './backup.ts';
import { restoreBackup } from './restore.ts';
import { manifestOf, optionsFor, toolsFor } from './testing/backups.ts';
import {
  contentOf,
  otherKey,
  passphrase,
  useBackedUp,
  useEmptyDatabase,
} from './testing/restoring.ts';

const backups = useBackedUp();
const target = useEmptyDatabase(backups);

test('a run of a schedule does not go on after a restore: its folder may be whole by now', async () => {
  const from = join(backups.service.dataDir, 'runs');
  await backups.service.db.query(sql`
    insert into exports (tenant, id, format, request, options, file_name, slice, recorded_before, requested_by,
      token_id, not_before, due_at, schedule_id)
    select 'T', id, 'csv', '{}', '{}', 'f', '{}', now(), 'test', 'tok', 'infinity', 'infinity', schedule
    from (values ('exp_1', 'sch_1'), ('exp_2', null)) as job(id, schedule)`);
  const env = { DATABASE_URL: backups.service.db.url, SVC_DATA_DIR: backups.service.dataDir };
  await backUp(toolsFor(env), optionsFor(from));
  await backups.service.db.query(sql`delete from exports`);
  await target.restore({ from });
  const states = sql`select state from exports order by id`;
  expect(await target.db.query(states)).toMatchObject([{ state: 'failed' }, { state: 'queued' }]);
});

test('a database that holds anything is refused, and stays as it was', async () => {
  const before = await contentOf(backups.service.db);
  const env = { DATABASE_URL: backups.service.db.url };
  await expect(target.restore({}, env)).rejects.toMatchObject({ code: 'database_not_empty' });
  expect(await contentOf(backups.service.db)).toEqual(before);
  await migrate(backups.service.db);
});

test('a restore killed after the migrations goes on, but not over new rows', async () => {
  const { migrations } = await manifestOf(backups.place, backups.id);
  const only = new Set(migrations.map(({ name }) => name));
  expect(await migrate(target.db, undefined, { only, isRestoring: true })).toContain(baseline);
  await target.db.query(
    sql`insert into leaf_tenants (tenant, count, bytes, digest, first_at, last_at) values ('T', 1, 1, 0, now(), now())`,
  );
  await expect(target.restore()).rejects.toMatchObject({
    code: 'database_not_empty',
    detail: expect.stringContaining('leaf_tenants'),
  });
  expect(await findRestore({ dataDir: target.dataDir, databaseUrl: target.url })).toBeNull();
  await target.db.query(sql`delete from leaf_tenants`);
  expect((await target.restore()).verification.problem_count).toBe(0);
});

test('a half restored database serves nobody, and the next restore goes on', async () => {
  const { tables } = await manifestOf(backups.place, backups.id);
  const file = tables.find(({ name }) => name === 'enrichment_records')?.parts[0]?.files[0];
  const path = join(backups.place, file?.key ?? '');
  const bytes = await readFile(path);
  await writeFile(path, Buffer.from(bytes).fill(0, bytes.length - 4));
  await expect(target.restore()).rejects.toMatchObject({ code: 'backup_damaged' });
  await expect(migrate(target.db)).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringContaining('half restored'),
  });
  // So does the data folder, also to what looks at no database.
  const tools = toolsFor({ DATABASE_URL: target.url, SVC_DATA_DIR: target.dataDir });
  await expect(backUp(tools, optionsFor(backups.place))).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringMatching(/half restored: .* was broken off. Run the same svcctl restore/),
  });
  const loaded = await target.db.query(
    sql`select path, xmin::text from restored_files order by path`,
  );
  expect(loaded.length).toBeGreaterThan(0);
  expect(await target.db.query(sql`select from enrichment_records`)).toEqual([]);
  await writeFile(path, bytes);
  expect((await target.restore()).verification.problem_count).toBe(0);
  expect(await contentOf(target.db)).toEqual(await contentOf(backups.service.db));
  expect(await migrate(target.db)).toEqual([]);
  expect(await findRestore({ dataDir: target.dataDir, databaseUrl: target.url })).toBeNull();
});

test('with a damaged object the refusal says what works, and --skip-damaged restores the rest', async () => {
  const { database } = await manifestOf(backups.place, backups.id);
  const folder = join(backups.place, 'objects', database);
  const [name = ''] = (await readdir(folder, { recursive: true }))
    .filter((each) => each.endsWith('.parquet'))
    .sort();
  const path = join(folder, name);
  const bytes = await readFile(path);
  // The object of the service may be a link to this file.
  await rm(path);
  await writeFile(path, Buffer.from(bytes).fill(0, bytes.length - 4));
  const refused = await target.restore().catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'backup_damaged',
    detail: expect.stringMatching(/--skip-damaged.*empty database/s),
  });
  expect(refused).toMatchObject({ detail: expect.stringContaining(backups.early) });
  expect(refused).toMatchObject({ detail: expect.not.stringContaining('svcctl backup ls') });
  const other = await target.restore({ id: backups.early }).catch((error: unknown) => error);
  expect(other).toMatchObject({
    code: 'database_not_empty',
    detail: expect.stringMatching(/--skip-damaged.*empty database/s),
  });
  const restored = await target.restore({ skipsDamaged: true });
  expect(restored).toMatchObject({ id: backups.id, objects_damaged: [name] });
  expect(restored.verification.problems).toMatchObject([
    { kind: 'object_missing', object_key: name },
  ]);
  expect(await contentOf(target.db)).toEqual(await contentOf(backups.service.db));
  await writeFile(path, bytes);
});

test('a damaged file of rows names the backups that do without it', async () => {
  const { tables } = await manifestOf(backups.place, backups.id);
  const records = tables.find(({ name }) => name === 'enrichment_records');
  const path = join(backups.place, records?.parts[0]?.files[0]?.key ?? '');
  const bytes = await readFile(path);
  await writeFile(path, Buffer.from(bytes).fill(0, bytes.length - 4));
  await expect(target.restore({ skipsDamaged: true })).rejects.toMatchObject({
    code: 'backup_damaged',
    detail: expect.stringContaining(backups.early),
  });
  await writeFile(path, bytes);
});

test('a backup of a newer release is refused, and one under another passphrase', async () => {
  const mend = await backups.changeManifest(({ migrations }) => {
    migrations.push({ name: '9999-later.sql', checksum: 'c' });
  });
  await expect(target.restore()).rejects.toMatchObject({ code: 'backup_newer' });
  await mend();
  const findPassphrase = async () => `${passphrase}!`;
  await expect(target.restore({ findPassphrase })).rejects.toMatchObject({
    code: 'passphrase_wrong',
  });
  const tables = await target.db.query(sql`select from pg_tables where schemaname = 'public'`);
  expect(tables).toEqual([]);
  expect(await readdir(target.dataDir)).not.toContain('secret-key');
});

test('on the store of the living original a restored database only reads, until it takes it over', async () => {
  const cold = join(backups.service.dataDir, 'cold');
  const env = { SVC_BLOB_URL: pathToFileURL(cold).href };
  const store = createFileStore(cold);
  const marker = await store.marker.read();
  const [object = ''] = (await readdir(join(cold, 'records'), { recursive: true })).filter((name) =>
    name.endsWith('.parquet'),
  );
  const lost = join(cold, 'records', object);
  const away = join(backups.service.dataDir, 'away');
  await rename(lost, away);
  const restored = await target.restore({}, env);
  expect(restored).toMatchObject({ objects_brought: 0, objects_missing: 1 });
  expect(restored.verification.problems).toMatchObject([{ kind: 'object_missing' }]);
  expect(await store.marker.read()).toBe(marker);
  await rename(away, lost);
  await fenceOf(backups.service.db).advance();
  const elsewhere = { state: 'elsewhere' };
  expect(await fenceOf(target.db).look()).toMatchObject(elsewhere);
  await expect(fenceOf(target.db).advance()).rejects.toMatchObject({ code: 'store_fenced' });

  function fenceOf(db: Database) {
    return createStoreFence({ db, store, isKnown: async () => true });
  }
});

test('a restore waits for a store that is away', async () => {
  const s3 = await startS3();
  let time = 0;
  const told: string[] = [];
  s3.behave((method, path) =>
    method === 'PUT' && path.includes('/records/') && told.length === 0 ? 'fail' : 'pass',
  );
  const env = { SVC_BLOB_URL: s3.urlOf('restored'), SVC_SECRET_KEY: otherKey };
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
      from: backups.place,
      isDrill: false,
      isAdopting: false,
      skipsDamaged: false,
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
  const restored = await target.restore({ isAdopting: true }, env);
  expect(restored).toMatchObject({ objects_brought: 2, objects_missing: 0 });
  expect(restored.verification.problem_count).toBe(0);
  const fence = createStoreFence({ db: target.db, store, isKnown: async () => false });
  expect(await fence.look()).toMatchObject({ state: 'own' });
  await rm(cold, { recursive: true });
});
