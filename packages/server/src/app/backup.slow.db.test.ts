import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../test/database.ts';
import { untilLockWaits } from '../../test/one-server.ts';
import { startS3 } from '../../test/s3.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import { findLastBackup, type Manifest } from '../backup/index.ts';
import { manifestText } from '../backup/manifest.ts';
import { tryLock } from '../platform/postgres/locks.ts';
import { listDueRemovals } from '../retention/mover/queries.ts';
import { type BackUpOptions, backUp, listPlace, verifyBackup } from './backup.ts';
import {
  ingest,
  manifestOf,
  manifestPath,
  optionsFor,
  toolsFor,
  untilMoved,
} from './testing/backups.ts';

let service: TestService;
let place: string;
beforeAll(async () => {
  service = await startTestService();
  place = await mkdtemp(join(tmpdir(), 'svcctl-backup-'));
  await ingest(service, { month: '2001-03', count: 60, text: 'v' });
  await ingest(service, { month: '2001-04', count: 40, text: 'x' });
  await untilMoved(service, '2001-04-01');
  await ingest(service, { month: '2001-04', count: 30, text: 'y' });
});
afterAll(async () => {
  await service.stop();
  await rm(place, { recursive: true, force: true });
});

const tools = () => toolsFor({ DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir });
const save = (more: Partial<BackUpOptions> = {}) => backUp(tools(), optionsFor(place, more));
const verify = () => verifyBackup(tools(), { from: place });

test('a backup holds all records of both tiers, and proves them by their content', async () => {
  const made = await save({ isVerified: true });
  expect(made).toMatchObject({ records: 130, objects: 2, report: { problem_count: 0 } });
  expect(made.report?.cold.count).toBe(60);
  expect(made.report?.hot.count).toBe(70);
  expect(await findLastBackup(service.db)).toMatchObject({ id: made.id, records: 130 });
  expect((await findLastBackup(service.db))?.verified_at).not.toBeNull();
  expect(await listPlace(tools(), place)).toEqual([expect.objectContaining({ id: made.id })]);
  // Segments are links where the place is on the same file system.
  const [object = ''] = await listObjects();
  expect((await stat(join(place, object))).nlink).toBe(2);
});

test('a backup tells how far the audit log was, which proves it later', async () => {
  const { id, audit_head: head } = await save();
  await service.makeToken({ preset: 'pipeline' });
  const verified = await service.call('POST', '/audit/verify', { body: { head } });
  expect(verified.json).toMatchObject({ ok: true, problems: [] });
  expect((await manifestOf(place, id)).audit_head).toBe(head);
  expect(await listPlace(tools(), place)).toMatchObject([{ audit_head: head }, {}]);
});

test('an incremental backup reads neither objects nor months again that have not changed', async () => {
  const before = await save();
  const objects = await listObjects();
  const [object] = objects;
  const linkedAt = (await stat(join(place, object ?? ''))).ctimeMs;
  await ingest(service, { month: '2001-03', count: 20, text: 'z' });
  await untilMoved(service, '2001-04-01');
  // The same rows in another order would make another file.
  await service.db.query(sql`
    update enrichment_records set kind = kind where event_id like '%-0' and occurred_at >= '2001-04-01Z'`);
  const made = await save({ isIncremental: true });
  expect(made).toMatchObject({ records: 150, place });
  expect((await listObjects()).length).toBeGreaterThan(objects.length);
  // A new link would have changed the file's time of change.
  expect((await stat(join(place, object ?? ''))).ctimeMs).toBe(linkedAt);
  const [old, fresh] = [await manifestOf(place, before.id), await manifestOf(place, made.id)];
  expect(monthOf(fresh, '2001-04')).toEqual(monthOf(old, '2001-04'));
  expect(monthOf(fresh, '2001-04')).toBeDefined();
  expect((await verify()).report.problem_count).toBe(0);
});

test('a backup without --incremental reads what is there, and writes damaged objects anew', async () => {
  const object = await findObject();
  await flip(join(place, object), { isShared: true });
  const found = await verify();
  expect(found.report.problems).toMatchObject([{ kind: 'object', key: object }]);
  await save();
  expect((await verify()).report.problem_count).toBe(0);
});

test('verify names the file in which a byte was changed, and the one that is gone', async () => {
  const { id } = await save();
  const { tables } = await manifestOf(place, id);
  const keyOf = (name: string): string =>
    tables.find((table) => table.name === name)?.parts[0]?.files[0]?.key ?? '';
  const [changed, gone] = [keyOf('enrichment_records'), keyOf('access_tokens')];
  // Wherever it is: of most, packing makes other rows and tells nothing.
  for (const share of [0.2, 0.4, 0.6, 0.8]) {
    const undo = await flip(join(place, changed), { share });
    expect((await verify()).report.problems).toMatchObject([{ kind: 'file', key: changed }]);
    await undo();
  }
  await flip(join(place, changed));
  await unlink(join(place, gone));
  const { report } = await verify();
  expect(report.problem_count).toBe(2);
  expect(report.problems.map(({ key }) => key).sort()).toEqual([gone, changed].sort());
  await save();
  expect((await verify()).report.problem_count).toBe(0);
});

test('a changed manifest is no manifest, and a folder without one holds no backup', async () => {
  const { id } = await save();
  const path = await manifestPath(place, id);
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace(/"count":\d/, '"count":9'));
  await expect(verify()).rejects.toMatchObject({ code: 'backup_damaged' });
  await writeFile(path, text);
  const empty = await mkdtemp(join(tmpdir(), 'svcctl-backup-'));
  const none = { from: empty };
  await expect(verifyBackup(tools(), none)).rejects.toMatchObject({ code: 'backup_not_found' });
  await rm(empty, { recursive: true });
});

test('without one of its objects there is no backup, and the next one is whole', async () => {
  const object = await findObject();
  const path = join(service.dataDir, 'cold', object.slice(object.indexOf('records/')));
  await rm(join(place, 'objects'), { recursive: true });
  await rename(path, `${path}.away`);
  const ids = async () => (await listPlace(tools(), place)).map(({ id }) => id);
  const before = await ids();
  await expect(save()).rejects.toMatchObject({ code: 'segment_damaged' });
  expect(await ids()).toEqual(before);
  const [run] = await service.db.query(
    sql`select error_code, taken_at from backups order by started_at desc limit 1`,
  );
  expect(run).toEqual({ error_code: 'segment_damaged', taken_at: null });
  const partial = await save({ allowsMissing: true, isVerified: true });
  const key = object.slice(object.indexOf('records/'));
  expect(partial.missing).toEqual([key]);
  expect(partial.report?.problems).toMatchObject([{ kind: 'object', key }]);
  await rename(`${path}.away`, path);
  const whole = await save({ isIncremental: true });
  expect(whole).toMatchObject({ objects: partial.objects + 1, missing: [] });
  expect((await verify()).report.problem_count).toBe(0);
});

test('with --keep only the newest backups stay, and what they need', async () => {
  await save();
  const [database = ''] = await readdir(join(place, 'tables'));
  await writeFile(join(place, 'tables', database, 'left.gz'), 'of a killed run');
  const objects = await listObjects();
  const made = await save({ isIncremental: true, keep: 1 });
  expect((await listPlace(tools(), place)).map(({ id }) => id)).toEqual([made.id]);
  expect((await verify()).report.problem_count).toBe(0);
  const { tables, objects: listed } = await manifestOf(place, made.id);
  const needed = tables
    .flatMap(({ parts }) => parts.flatMap(({ files }) => files))
    .concat(listed.lists);
  const left = await listFiles('tables');
  expect(left).toEqual([...new Set(needed.map(({ key }) => key))].sort());
  expect((await listObjects()).length).toBe(made.objects);
  expect(objects.length).toBeGreaterThanOrEqual(made.objects);
});

test('another database in the place keeps what it likes, and removes nothing that is not its own', async () => {
  const own = await listPlace(tools(), place);
  const other = await createTestDatabase();
  const others = toolsFor({ DATABASE_URL: other.url, SVC_DATA_DIR: service.dataDir });
  const made = await backUp(others, optionsFor(place, { keep: 1 }));
  expect(made.removed).toBe(0);
  expect(await listPlace(tools(), place)).toMatchObject([{ id: made.id }, ...own]);
  expect(made.database).not.toBe(own[0]?.database);
  expect((await save({ keep: 1 })).removed).toBe(own.length);
  const both = (await listPlace(tools(), place)).map(({ database }) => database);
  expect(both).toEqual([own[0]?.database, made.database]);
  // The newest of all is not what anybody means.
  await expect(verify()).rejects.toMatchObject({ code: 'usage_invalid' });
  const database = made.database;
  const { report } = await verifyBackup(tools(), { from: place, database });
  expect(report.problem_count).toBe(0);
  for (const kind of ['backups', 'objects', 'tables']) {
    await rm(join(place, kind, database), { recursive: true, force: true });
  }
  await other.drop();
});

test('a database that is a copy, or was set back, removes no backup that it does not know', async () => {
  const [newest] = await listPlace(tools(), place);
  await service.db.query(sql`delete from backups where id >= ${newest?.id}`);
  await expect(save({ keep: 1 })).rejects.toMatchObject({ code: 'backup_foreign' });
  expect(await listPlace(tools(), place)).toContainEqual(newest);
});

test('a place that cannot be a folder is named', async () => {
  const out = join(place, 'file');
  await writeFile(out, '');
  await expect(backUp(tools(), optionsFor(out))).rejects.toMatchObject({
    code: 'backup_place_unavailable',
    detail: expect.stringContaining(out),
  });
  await unlink(out);
});

test('an id of a clock that was ahead is told, not newest and not kept', async () => {
  const ids = async () => (await listPlace(tools(), place)).map(({ id }) => id);
  const early = await save();
  // Its folder and its row are named as by a host whose clock was years ahead.
  const ahead = '20990101T000000000Z-Zzzz';
  await rewrite(early.id, (manifest) => ({ ...manifest, id: ahead }));
  await service.db.query(sql`update backups set id = ${ahead} where id = ${early.id}`);
  const told: string[] = [];
  const warned = { ...tools(), onWarning: (text: string) => told.push(text) };
  const made = await backUp(warned, optionsFor(place, { keep: 2, isIncremental: true }));
  expect(await ids()).toEqual([made.id, ahead]);
  expect(told).toEqual([expect.stringContaining(ahead)]);
  expect((await verify()).id).toBe(made.id);
  const next = await save({ keep: 1 });
  expect(await ids()).toEqual([next.id]);
  expect((await verify()).report.problem_count).toBe(0);
});

test('a backup is kept by the run that made it, also behind one from ahead', async () => {
  const early = await save();
  await rewrite(early.id, (manifest) => ({ ...manifest, taken_at: '2099-01-01T00:00:00.000000Z' }));
  await service.db.query(sql`update backups set taken_at = '2099-01-01Z' where id = ${early.id}`);
  const made = await save({ keep: 1 });
  expect((await listPlace(tools(), place)).map(({ id }) => id)).toEqual([made.id]);
  expect((await findLastBackup(service.db))?.id).toBe(made.id);
  await service.db.query(sql`delete from backups where id = ${early.id}`);
});

test('a damaged manifest of an earlier backup keeps nobody from a later one', async () => {
  const early = await save();
  await writeFile(await manifestPath(place, early.id), 'nothing');
  const made = await save({ keep: 1 });
  expect((await listPlace(tools(), place)).map(({ id }) => id)).toEqual([made.id]);
});

test.each(['manifest', 'list of objects'])(
  'an incremental backup reads all again where the %s of the last one is damaged',
  async (what) => {
    const { id } = await save();
    const { lists } = (await manifestOf(place, id)).objects;
    const manifest = await manifestPath(place, id);
    const undo = await flip(what === 'manifest' ? manifest : join(place, lists[0]?.key ?? ''));
    const told: string[] = [];
    const warned = { ...tools(), onWarning: (text: string) => told.push(text) };
    const made = await backUp(warned, optionsFor(place, { isIncremental: true }));
    expect(told).toEqual([expect.stringMatching(/reads all again/)]);
    expect(made.objects).toBeGreaterThan(0);
    expect((await verify()).report.problem_count).toBe(0);
    await undo();
  },
);

test('two backups of a database exclude each other, however their place is spelled', async () => {
  const link = `${place}-link`;
  await symlink(place, link);
  const first = await service.db.transaction(async (connection) => {
    await connection.query(sql`lock table backups`);
    const running = save();
    await untilLockWaits(service.db);
    await expect(backUp(tools(), optionsFor(link))).rejects.toMatchObject({ code: 'backup_busy' });
    return { running };
  });
  await first.running;
  await unlink(link);
});

test('a mark names who writes: a copy of the database is kept away, and a killed run is not waited for', async () => {
  const [own] = await listPlace(tools(), place);
  const mark = join(place, 'writing', own?.database ?? '');
  const left = { id: own?.id, host: 'host-1', pid: 7, started_at: '2026-03-05T14:07:09Z' };
  await mkdir(join(place, 'writing'), { recursive: true });
  await writeFile(mark, JSON.stringify({ ...left, id: '20260305T140709123Z-9fK2' }));
  await expect(save()).rejects.toMatchObject({
    code: 'backup_busy',
    detail: expect.stringMatching(/host-1.*writing\//),
  });
  await writeFile(mark, JSON.stringify(left));
  const marks: string[] = [];
  const onStep = () => marks.push(readFileSync(mark, 'utf8'));
  const made = await backUp({ ...tools(), onStep }, optionsFor(place));
  expect(JSON.parse(marks[0] ?? '')).toMatchObject({ id: made.id, pid: process.pid });
  expect(await readdir(join(place, 'writing'))).toEqual([]);
});

test('a run whose mark was replaced meanwhile writes no manifest and removes nothing', async () => {
  const before = await listPlace(tools(), place);
  const mark = join(place, 'writing', before[0]?.database ?? '');
  const other = JSON.stringify({ id: 'other', host: 'host-2', pid: 8, started_at: '' });
  const onStep = () => writeFileSync(mark, other);
  const running = backUp({ ...tools(), onStep }, optionsFor(place, { keep: 1 }));
  await expect(running).rejects.toMatchObject({ code: 'backup_busy' });
  expect(await listPlace(tools(), place)).toEqual(before);
  expect(await readFile(mark, 'utf8')).toBe(other);
  await unlink(mark);
});

test('what was removed from the place meanwhile is missed before the manifest is written', async () => {
  const before = await listPlace(tools(), place);
  const object = join(place, await findObject());
  await cp(object, `${object}.away`);
  const onStep = ({ name }: { name: string }) => {
    if (name === 'records') rmSync(object, { force: true });
  };
  const running = backUp({ ...tools(), onStep }, optionsFor(place, { isIncremental: true }));
  await expect(running).rejects.toMatchObject({
    code: 'backup_place_unavailable',
    detail: expect.stringContaining('records/'),
  });
  expect(await listPlace(tools(), place)).toEqual(before);
  await rename(`${object}.away`, object);
});

test('while a backup copies objects, none is listed for removal', async () => {
  await service.db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    values ('T', 'records/tenant=T/old.parquet', 'mov_1', now() - interval '1 day')`);
  const session = await service.db.openSession();
  await tryLock(session, 'objectHolds', undefined, { isShared: true });
  expect(await listDueRemovals(service.db, 10)).toEqual([]);
  await session.close();
  await expect.poll(() => listDueRemovals(service.db, 10)).toHaveLength(1);
});

test('a bucket is as good a place, and one that refuses is named', async () => {
  const s3 = await startS3();
  const inBucket = optionsFor(s3.urlOf('backups'));
  const made = await backUp(tools(), { ...inBucket, isVerified: true });
  expect(made).toMatchObject({ records: 150, report: { problem_count: 0 } });
  s3.behave((method) => (method === 'PUT' ? 'deny' : 'pass'));
  await expect(backUp(tools(), inBucket)).rejects.toMatchObject({
    code: 'backup_place_unavailable',
    detail: expect.stringContaining('s3://'),
  });
  s3.behave(() => 'pass');
  expect(await listPlace(tools(), inBucket.out)).toHaveLength(1);
  await s3.close();
});

test('a backup waits for a place that is away, and says so', async () => {
  const s3 = await startS3();
  const told: string[] = [];
  let [time, pauses] = [0, 0];
  const patient = {
    ...tools(),
    onWarning: (text: string) => told.push(text),
    now: () => time,
    sleep: async () => {
      time += 10_000;
      pauses += 1;
      if (told.length > 0) s3.behave(() => 'pass');
    },
    // It goes away in the middle, while the snapshot is held.
    onStep: ({ name }: { name: string }) => {
      if (name === 'records' && pauses === 0) s3.behave(() => 'fail');
    },
  };
  const made = await backUp(patient, optionsFor(s3.urlOf('away'), { isVerified: true }));
  expect(made).toMatchObject({ records: 150, report: { problem_count: 0 } });
  expect(told).toEqual([
    expect.stringMatching(/^Waiting for s3:.*InternalError/),
    expect.stringMatching(/answers again/),
  ]);
  await s3.close();
});

/** An object that the database refers to now, as the place names it. */
async function findObject(): Promise<string> {
  const [row] = await service.db.query<{ key: string }>(
    sql`select object_key as key from segments order by 1 limit 1`,
  );
  const [database = ''] = await readdir(join(place, 'objects'));
  return `objects/${database}/${row?.key}`;
}

const listObjects = () => listFiles('objects');

/** Changes the manifest of a backup as its writer could have written it, also under another id. */
async function rewrite(id: string, change: (manifest: Manifest) => Manifest): Promise<void> {
  const path = await manifestPath(place, id);
  const manifest = change(await manifestOf(place, id));
  await rm(dirname(path), { recursive: true });
  const changed = join(dirname(dirname(path)), manifest.id, 'manifest.json');
  await mkdir(dirname(changed), { recursive: true });
  await writeFile(changed, manifestText(manifest));
}

async function listFiles(folder: string): Promise<string[]> {
  const found = await readdir(join(place, folder), { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1))
    .sort();
}

function monthOf({ tables }: Manifest, month: string) {
  const records = tables.find(({ name }) => name === 'enrichment_records');
  return records?.parts.find((part) => part.month?.month === month);
}

/** Changes a byte of a file. One that is a link is made a file of its own before. */
async function flip(
  path: string,
  { isShared = false, share = 0.5 } = {},
): Promise<() => Promise<void>> {
  const before = await readFile(path);
  const bytes = Buffer.from(before);
  const at = Math.floor(bytes.length * share);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  if (isShared) await unlink(path);
  await writeFile(path, bytes);
  return () => writeFile(path, before);
}
