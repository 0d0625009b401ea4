import { mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { answer, useReceiver } from '../../test/receiver.ts';
import { startTestService } from '../../test/service.ts';
import { use } from '../../test/use.ts';
import { listBackups, openPlace, removeKeys } from '../backup/index.ts';
import type { EraseReceipt } from '../retention/contract.ts';
import { type BackUpOptions, backUp, verifyBackup } from './backup.ts';
import { manifestOf, optionsFor, toolsFor, untilMoved } from './testing/backups.ts';
import { contentOf, useEmptyDatabase } from './testing/restoring.ts';

const receiver = useReceiver();
const world = use(start, (made) => made.stop());
const target = useEmptyDatabase(world);

const { signal } = new AbortController();
const [gone, stays] = ['GONE\\ & co', 'STAYS'];

async function start() {
  const folder = await mkdtemp(join(tmpdir(), 'svcctl-keys-'));
  const [place, keys] = [join(folder, 'place'), join(folder, 'keys')];
  const service = await startTestService({
    SVC_BACKUP_KEYS: keys,
    SVC_ALLOW_TARGETS: '127.0.0.0/8',
  });
  receiver.behave(() => answer(500, { body: `answer-${stays}` }));
  const env = { DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir };
  const tools = (more: Record<string, string> = { SVC_BACKUP_KEYS: keys }) =>
    toolsFor({ ...env, ...more });
  return {
    ...{ folder, place, keys, service, tools },
    save: (more: Partial<BackUpOptions> = {}) => backUp(tools(), optionsFor(place, more)),
    async fill(tenant: string, text: string) {
      const records = Array.from({ length: 40 }, (_, n) => ({
        tenant,
        store: 'A',
        event_id: `${text}-${n}`,
        occurred_at: `2001-0${n % 2 === 0 ? 3 : 4}-02T00:00:00.${n + 1}Z`,
        confidence: null,
        enrichment: { text: `${text}-of-records`, n },
      }));
      const stored = await service.call('POST', '/enrichment/records', { body: { records } });
      expect(stored.json).toMatchObject({ accepted: 40 });
      const incident = { tenant, type: 'incident.created', data: { text: `${text}-of-incidents` } };
      expect((await service.call('POST', '/incidents', { body: incident })).status).toBe(202);
      // Nothing is delivered again while a test compares what a backup holds with what is there.
      await vi.waitUntil(async () => {
        const waiting = sql`select from deliveries where attempts = 0 and status <> 'discarded'`;
        return (await service.db.query(waiting)).length === 0;
      }, 60_000);
    },
    async erase(tenant: string): Promise<EraseReceipt> {
      const body = { tenant, from: '2001-01-01', to: '2100-01-01', incidents: true };
      const { status, json, text } = await service.call('POST', '/enrichment/erase', { body });
      expect(status, text).toBe(200);
      return json;
    },
    async stop() {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether a text is in any file of a folder, as it is or after Brotli, which may begin behind the head of a frame. */
async function isFound(folder: string, text: string): Promise<boolean> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const file of files.filter((each) => each.isFile())) {
    const bytes = await readFile(join(file.parentPath, file.name));
    for (const from of [0, 56]) {
      if (bytes.includes(text) || unpacked(bytes.subarray(from)).includes(text)) return true;
    }
  }
  return false;
}

function unpacked(bytes: Buffer): Buffer {
  try {
    return brotliDecompressSync(bytes);
  } catch {
    return Buffer.alloc(0);
  }
}

/** The rows of all tables that do not tell of these texts. */
async function rowsWithout(db: typeof target.db, texts: readonly string[]) {
  const content = await contentOf(db);
  return Object.fromEntries(
    Object.entries(content).map(([table, text]) => [
      table,
      text.split('\n').filter((row) => !texts.some((one) => row.includes(one))),
    ]),
  );
}

test('an erased tenant cannot be read in any backup, and all others can', async () => {
  const { service, place, tools, save } = world;
  for (const tenant of [gone, stays]) {
    const url = receiver.url(`/${tenant === gone ? 'gone' : 'stays'}`);
    const body = { tenant, url, retry_schedule: [86_400] };
    expect((await service.call('POST', '/webhook/endpoints', { body })).status).toBe(201);
    await world.fill(tenant, tenant === gone ? 'hidden' : 'open');
  }
  await vi.waitUntil(async () => {
    const [attempts] = await service.db.query<{ count: number }>(
      sql`select count(distinct delivery_id) as count from delivery_attempts where response is not null`,
    );
    return attempts?.count === 2;
  }, 60_000);
  await untilMoved(service, '2001-04-01');
  const plain = join(world.folder, 'plain');
  const unkeyed = await backUp(tools({}), optionsFor(plain));
  expect((await manifestOf(plain, unkeyed.id)).format).toBe(2);
  expect(await isFound(plain, 'hidden-of-incidents')).toBe(true);

  await service.db.query(sql`
    insert into stored_days (tenant, day, count, bytes) values
      (${gone}, '2001-05-01', 5, 500), (${stays}, '2001-05-01', 7, 700), ('', '2001-05-01', 12, 1200)`);
  const made = await save({ isVerified: true });
  expect(made).toMatchObject({ records: 80, report: { problem_count: 0, tenants_unread: [] } });
  expect(made.report?.cold.count).toBe(40);
  const bare = await verifyBackup(tools({}), { from: place });
  expect(bare.report).toMatchObject({ problem_count: 0, tenants_unread: [gone, stays] });
  for (const text of ['hidden-', 'open-', `answer-${stays}`]) {
    expect(await isFound(place, text), text).toBe(false);
  }
  const ids = await service.db.query<{ id: string }>(sql`
    select id from webhook_endpoints where tenant = ${gone} union select id from deliveries where tenant = ${gone}`);
  const texts = [...ids.map(({ id }) => id), 'GONE', 'hidden'];
  const before = await rowsWithout(service.db, texts);

  const { backup_key, remains } = await world.erase(gone);
  expect(backup_key).toBe('removed');
  expect(remains).toContainEqual(
    expect.objectContaining({
      what: 'backups',
      note: expect.stringContaining('a key that is gone'),
    }),
  );
  const restored = await target.restore({ id: made.id }, { SVC_BACKUP_KEYS: world.keys });
  expect(restored).toMatchObject({ tenants_left_out: [gone], objects_brought: 1 });
  expect(restored.verification.problem_count).toBe(0);
  const after = await contentOf(target.db);
  for (const [table, text] of Object.entries(after)) {
    for (const one of texts) expect(text.includes(one), `${table} tells of ${one}`).toBe(false);
  }
  const restoredRows = await rowsWithout(target.db, texts);
  expect({ ...restoredRows, stored_days: [] }).toEqual({ ...before, stored_days: [] });
  expect(before.enrichment_records).toHaveLength(20);
  const totals = sql`select tenant, count, bytes from stored_days order by tenant`;
  expect(await target.db.query(totals)).toEqual([
    { tenant: '', count: 7, bytes: 700 },
    { tenant: stays, count: 7, bytes: 700 },
  ]);
});

test('what comes after an erasure has another key, also in an incremental backup', async () => {
  const { service, save } = world;
  await world.fill(gone, 'later');
  const made = await save({ isIncremental: true, isVerified: true });
  expect(made.report).toMatchObject({ problem_count: 0, tenants_unread: [] });
  const again = await save({ isIncremental: true });
  expect(again.new_bytes).toBeLessThan(made.new_bytes);
  const restored = await target.restore({}, { SVC_BACKUP_KEYS: world.keys });
  expect(restored).toMatchObject({ id: again.id, tenants_left_out: [] });
  expect(restored.verification.problem_count).toBe(0);
  expect(await rowsWithout(target.db, [])).toEqual(await rowsWithout(service.db, []));
  expect((await target.db.query(sql`select from enrichment_records`)).length).toBe(60);
});

test('a key stays until nothing of its tenant is left', async () => {
  const { service } = world;
  const erase = async (body: object) =>
    (await service.call('POST', '/enrichment/erase', { body: { tenant: gone, ...body } })).json;
  const days = { from: '2001-04-01', to: '2001-04-30' };
  expect(await erase({ ...days, incidents: true })).toMatchObject({ backup_key: null });
  expect(await erase({ ...days, store: 'A' })).toMatchObject({ backup_key: null });
  const all = { from: '2001-01-01', to: '2100-01-01' };
  expect(await erase(all)).toMatchObject({ backup_key: null });
  expect(await erase({ ...all, incidents: true, dry_run: true })).toMatchObject({
    backup_key: null,
  });
  // The records are gone: the last incident decides.
  expect(await erase({ ...all, incidents: true })).toMatchObject({ backup_key: 'removed' });
});

test('a place of keys that is not there takes no key away, and is not taken for an empty one', async () => {
  const { keys, service, save, tools } = world;
  await save();
  await rename(keys, `${keys}.away`);
  const unusable = { code: 'backup_keys_unusable' };
  await expect(save()).rejects.toMatchObject(unusable);
  await expect(verifyBackup(tools(), { from: world.place })).rejects.toMatchObject(unusable);
  await expect(target.restore({}, { SVC_BACKUP_KEYS: keys })).rejects.toMatchObject(unusable);
  await expect(target.restore()).rejects.toMatchObject(unusable);
  expect(await target.db.query(sql`select from pg_tables where schemaname = 'public'`)).toEqual([]);
  const { id, backup_key } = await world.erase(stays);
  expect(backup_key).toBe('due');
  const read = async () => (await service.call('GET', `/enrichment/erasures/${id}`)).json;
  expect(await read()).toMatchObject({ backup_key: 'due' });
  await rm(keys, { recursive: true, force: true });
  await rename(`${keys}.away`, keys);
  await vi.waitUntil(async () => (await read()).backup_key === 'removed', 60_000);
  const restored = await target.restore({}, { SVC_BACKUP_KEYS: keys });
  expect(restored.tenants_left_out).toEqual([stays]);
  await writeFile(keys.concat('.file'), '');
  await expect(
    backUp(tools({ SVC_BACKUP_KEYS: `${keys}.file` }), optionsFor(world.place)),
  ).rejects.toMatchObject({ code: 'backup_place_unavailable' });
});

test('keys that lie where backups do are refused, whatever the place is called', async () => {
  const { folder, place, tools } = world;
  const link = join(folder, 'link');
  await symlink(place, link);
  for (const keys of [place, join(place, 'keys'), folder, link, join(link, 'none', 'keys')]) {
    await expect(backUp(tools({ SVC_BACKUP_KEYS: keys }), optionsFor(place))).rejects.toMatchObject(
      { code: 'settings_invalid', detail: expect.stringContaining('inside') },
    );
  }
});

test('a restore that was broken off goes on only with the same keys', async () => {
  const { keys, place, save } = world;
  await world.fill(stays, 'more');
  const { id } = await save();
  const { tables } = await manifestOf(place, id);
  const file = tables.find(({ name }) => name === 'enrichment_records')?.parts[0]?.files[0];
  const path = join(place, file?.key ?? '');
  const bytes = await readFile(path);
  await writeFile(path, Buffer.from(bytes).fill(0, bytes.length - 4));
  const restore = () => target.restore({ id }, { SVC_BACKUP_KEYS: keys });
  await expect(restore()).rejects.toMatchObject({ code: 'backup_damaged' });
  await writeFile(path, bytes);
  const own = (await manifestOf(place, id)).keys?.tenants.find(({ tenant }) => tenant === stays);
  const key = join(keys, own?.name ?? '');
  await rename(key, `${key}.away`);
  await expect(restore()).rejects.toMatchObject({ code: 'backup_keys_unusable' });
  await expect(save()).rejects.toMatchObject({ code: 'backup_keys_unusable' });
  await rename(`${key}.away`, key);
  expect(await restore()).toMatchObject({
    tenants_left_out: [],
    verification: { problem_count: 0 },
  });
});

test('what a lost key encrypted is left out only where that is asked for', async () => {
  const { keys, place, save } = world;
  await world.fill(stays, 'lost');
  const { id } = await save();
  const own = (await manifestOf(place, id)).keys?.tenants.find(({ tenant }) => tenant === stays);
  await rename(join(keys, own?.name ?? ''), join(keys, 'away'));
  const lost = { code: 'backup_keys_unusable', detail: expect.stringContaining(stays) };
  await expect(target.restore({ id }, { SVC_BACKUP_KEYS: keys })).rejects.toMatchObject(lost);
  const { report } = await verifyBackup(world.tools(), { from: place, id });
  expect(report).toMatchObject({ tenants_unread: [stays], problem_count: 1 });
  expect(report.problems).toMatchObject([{ kind: 'key', key: own?.name }]);
  const restored = await target.restore({ id, skipsDamaged: true }, { SVC_BACKUP_KEYS: keys });
  expect(restored).toMatchObject({ tenants_left_out: [stays], verification: { problem_count: 0 } });
});

test('a damaged key is told from others, and counts as a lost one where these are left out', async () => {
  const { keys, place } = world;
  const [newest] = (await listBackups(await openPlace(place, world.folder), signal)).slice(-1);
  const own = (await manifestOf(place, newest?.id ?? '')).keys?.tenants.find(
    ({ tenant }) => tenant === stays,
  );
  await writeFile(join(keys, own?.name ?? ''), 'svcctl-backup-key 00');
  await expect(target.restore({}, { SVC_BACKUP_KEYS: keys })).rejects.toMatchObject({
    detail: expect.stringContaining('is damaged'),
  });
  const restored = await target.restore({ skipsDamaged: true }, { SVC_BACKUP_KEYS: keys });
  expect(restored).toMatchObject({ tenants_left_out: [stays], verification: { problem_count: 0 } });
});

test('an incremental backup of a database that was set back to before an erasure can be restored', async () => {
  const { keys, service, save } = world;
  const keyPlace = await openPlace(keys, world.folder);
  await removeKeys(
    { place: keyPlace, spoolDir: world.folder },
    { tenant: stays, ended: String(Date.now() * 1000) },
    signal,
  );
  const { id } = await save({ isIncremental: true });
  const restored = await target.restore({ id }, { SVC_BACKUP_KEYS: keys });
  expect(restored).toMatchObject({ tenants_left_out: [], verification: { problem_count: 0 } });
  expect(await rowsWithout(target.db, [])).toEqual(await rowsWithout(service.db, []));
});
