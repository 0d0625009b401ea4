import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { useFolder } from '../../../test/folder.ts';
import { type FoundKeys, findKeyFault, findKeyring, makeNextKeyFile } from './secret-key.ts';

const db = useTestDatabase();
const dataDir = useFolder();
beforeEach(async () => {
  await db.query(sql`delete from signing_keys`);
});

const findAll = (secretKey?: string, secretKeyPrevious?: string) =>
  findKeyring(db, { secretKey, secretKeyPrevious, dataDir: dataDir.path });
const find = async (secretKey?: string) => (await findAll(secretKey)).sealing.key;
const path = () => join(dataDir.path, 'secret-key');
const long = 'correct horse battery staple, twice';

test('refuses a SVC_SECRET_KEY of 31 characters, and says so', async () => {
  await expect(find('x'.repeat(31))).rejects.toMatchObject({
    code: 'settings_invalid',
    detail: expect.stringContaining('SVC_SECRET_KEY has 31 characters'),
  });
  await expect(find('')).rejects.toThrow('SVC_SECRET_KEY');
  expect(await find('x'.repeat(32))).toHaveLength(32);
});

test('refuses a file that is cut off or is a folder', async () => {
  await writeFile(path(), 'c2hvcnQ=\n');
  await expect(find()).rejects.toThrow('secret-key has 8 characters');
  await rm(path());
  await mkdir(path());
  await expect(find()).rejects.toThrow('secret-key cannot be read');
});

test('refuses another key than the database was begun with, and says what to do', async () => {
  await find(long);
  await expect(find(`${long}!`)).rejects.toMatchObject({
    code: 'settings_invalid',
    detail: expect.stringContaining('Set SVC_SECRET_KEY to that key'),
  });
  expect(await find(long)).toHaveLength(32);
});

test('makes no file for a database that was begun with another key', async () => {
  await find(long);
  // The file is missing, which is another thing than a file with another key.
  await expect(find()).rejects.toThrow(`There is no ${path()}`);
  expect(await readdir(dataDir.path)).toEqual([]);
});

test('what a start would not find is told before, and nothing is made', async () => {
  const fault = (secretKey?: string) => findKeyFault(db, { secretKey, dataDir: dataDir.path });
  expect(await fault()).toBeNull();
  await find();
  expect(await fault()).toBeNull();
  await rename(path(), `${path()}.kept`);
  expect(await fault()).toMatch(/^There is no .*secret-key, and SVC_SECRET_KEY is not set/);
  expect(await readdir(dataDir.path)).toEqual(['secret-key.kept']);
  expect(await fault(long)).toMatch(/^SVC_SECRET_KEY is not the key/);
  await writeFile(path(), `${long}!`);
  expect(await fault()).toMatch(/secret-key is not the key that webhook secrets/);
  await writeFile(path(), '');
  expect(await fault()).toContain('secret-key has 0 characters');
  await rename(`${path()}.kept`, path());
  expect(await fault()).toBeNull();
});

test('the first start makes a file that only its owner reads; later ones find it', async () => {
  const key = await find();
  expect(await readdir(dataDir.path)).toEqual(['secret-key']);
  expect((await stat(path())).mode & 0o777).toBe(0o600);
  expect(await find()).toEqual(key);
  await chmod(path(), 0o400);
  expect(await find()).toEqual(key);
});

test('processes that start at once agree on one key', async () => {
  const keys = await Promise.all(Array.from({ length: 12 }, () => find()));
  expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
  expect(await readdir(dataDir.path)).toEqual(['secret-key']);
});

test("the file's text is as good a SVC_SECRET_KEY", async () => {
  const key = await find();
  expect(await find((await readFile(path(), 'utf8')).trim())).toEqual(key);
});

test('the database learns neither the key nor its text', async () => {
  const key = await find(long);
  const [row] = await db.query<{ key: Buffer }>(sql`select key from signing_keys`);
  expect(row?.key).toHaveLength(32);
  expect(row?.key.equals(key)).toBe(false);
});

const idsOf = ({ wanted, sealing, others }: FoundKeys) => ({
  wanted: wanted.id,
  sealing: sealing.id,
  others: others.map(({ id }) => id),
});

test('a database that the release before has used names no keys; a new one does', async () => {
  expect((await findAll(long)).isBound).toBe(true);
  await db.query(sql`delete from signing_keys where name = 'webhook-secret-key-id'`);
  expect((await findAll(long)).isBound).toBe(false);
});

test('the key of the database seals until it is rotated, whichever the settings name first', async () => {
  const { sealing } = await findAll(long);
  const both = idsOf(await findAll('x'.repeat(32), long));
  expect(both).toEqual({ wanted: both.others[0], sealing: sealing.id, others: [both.wanted] });
  expect(both.wanted).not.toBe(sealing.id);
  await expect(findAll('x'.repeat(32), 'y'.repeat(32))).rejects.toThrow('SVC_SECRET_KEY');
  await expect(findAll(long, 'short')).rejects.toThrow('SVC_SECRET_KEY_PREVIOUS has 5 characters');
});

test('a new key file keeps the one before beside it, and the database still seals with that', async () => {
  const { sealing } = await findAll();
  const before = await readFile(path(), 'utf8');
  await makeNextKeyFile(dataDir.path, sealing.id);
  expect((await readdir(dataDir.path)).sort()).toEqual(['secret-key', `secret-key.${sealing.id}`]);
  expect(await readFile(`${path()}.${sealing.id}`, 'utf8')).toBe(before);
  expect((await stat(path())).mode & 0o777).toBe(0o600);
  const next = idsOf(await findAll());
  expect(next).toEqual({ wanted: next.others[0], sealing: sealing.id, others: [next.wanted] });
});
