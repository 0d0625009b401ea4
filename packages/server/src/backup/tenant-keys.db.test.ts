import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { useFolder } from '../../test/folder.ts';
import { openPlace } from './place.ts';
import { listEndedKeys } from './queries.ts';
import { openTenantKeys, readKeys, removeKeys } from './tenant-keys.ts';

const db = useTestDatabase();
const folder = useFolder();
const { signal } = new AbortController();

async function open(former?: Parameters<typeof openTenantKeys>[1]) {
  const place = await openPlace(join(folder.path, 'keys'), folder.path);
  const keys = await openTenantKeys({ place, db, spoolDir: folder.path, signal }, former);
  return { place, keys };
}

/** Has a tenant be erased whole, and returns the moment of it. */
async function erase(tenant: string): Promise<string> {
  await db.query(sql`
    insert into erasures (id, tenant, receipt, backup_key_ended_at)
    values (gen_random_uuid()::text, ${tenant}, '{}', clock_timestamp())`);
  return (await listEndedKeys(db)).get(tenant) ?? '';
}

const countKeys = async () => {
  const entries = await readdir(join(folder.path, 'keys', 'keys'), {
    recursive: true,
    withFileTypes: true,
  });
  return entries.filter((entry) => entry.isFile()).length;
};

test('a key is made once, and named by no name', async () => {
  const { keys } = await open();
  await keys.begin(db);
  const [one, again] = [await keys.of('T'), await keys.of('T')];
  expect(one).toEqual(again);
  const { keys: later } = await open(await keys.settle());
  expect(await later.of('T')).toEqual(one);
  expect(await later.of('U')).not.toEqual(one);
  for (const nobody of [null, '', '*']) expect(await later.of(nobody)).toBeNull();
  expect(await countKeys()).toBe(2);
  expect((await readdir(join(folder.path, 'keys', 'keys'))).join()).not.toMatch(/[TU]/);
});

test('an erasure that is committed while a backup is made takes the key that this has made late', async () => {
  const { place, keys } = await open();
  await keys.begin(db);
  const ended = await erase('T');
  expect(await removeKeys({ place, spoolDir: folder.path }, { tenant: 'T', ended }, signal)).toBe(
    true,
  );
  await keys.of('T');
  expect(await countKeys()).toBe(0);
  const saved = await keys.settle();
  expect((await readKeys(place, saved, signal)).gone).toMatchObject([{ tenant: 'T' }]);
});

test('what is removed for an erasure is not the key of what came after it', async () => {
  const { place, keys } = await open();
  await keys.begin(db);
  const before = await keys.of('R');
  const ended = await erase('R');
  await keys.begin(db);
  const after = await keys.of('R');
  expect(after).not.toEqual(before);
  expect(await removeKeys({ place, spoolDir: folder.path }, { tenant: 'R', ended }, signal)).toBe(
    true,
  );
  expect(await removeKeys({ place, spoolDir: folder.path }, { tenant: 'R', ended }, signal)).toBe(
    true,
  );
  const saved = await keys.settle();
  expect(saved.tenants).toHaveLength(1);
  expect((await readKeys(place, saved, signal)).gone).toEqual([]);
});

test('a key that is lost is not taken for one that an erasure has removed', async () => {
  const { place, keys } = await open();
  for (const tenant of ['LOST', 'ERASED', 'LEFT']) await keys.of(tenant);
  const ended = await erase('ERASED');
  await removeKeys({ place, spoolDir: folder.path }, { tenant: 'ERASED', ended }, signal);
  const saved = await keys.settle();
  expect((await readKeys(place, saved, signal)).gone).toMatchObject([{ tenant: 'ERASED' }]);
  const lost = saved.tenants.find(({ tenant }) => tenant === 'LOST')?.name ?? '';
  await place.remove(lost, signal);
  const refused = { code: 'backup_keys_unusable', detail: expect.stringContaining('(LOST)') };
  await expect(readKeys(place, saved, signal)).rejects.toMatchObject(refused);
  const before = await countKeys();
  await expect(open(saved)).rejects.toMatchObject(refused);
  expect(await countKeys()).toBe(before);
  const { gone } = await readKeys(place, saved, signal, { skipsLost: true });
  expect(gone.map(({ tenant }) => tenant)).toEqual(['ERASED', 'LOST']);
});

test('a key that another backup has replaced is no key', async () => {
  const [one, other] = [await open(), await open()];
  await one.keys.of('S');
  const name = (await one.keys.settle()).tenants[0]?.name ?? '';
  await one.place.remove(name, signal);
  await other.keys.of('S');
  await expect(one.keys.settle()).rejects.toMatchObject({ code: 'backup_busy' });
  await expect(other.keys.settle()).resolves.toMatchObject({ tenants: [{ name }] });
});

test('nothing is removed where there is no place of keys', async () => {
  const place = await openPlace(join(folder.path, 'none'), folder.path);
  expect(
    await removeKeys({ place, spoolDir: folder.path }, { tenant: 'S', ended: '1' }, signal),
  ).toBe(false);
});
