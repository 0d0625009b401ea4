import { mkdir, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase, useTestDatabase } from '../../test/database.ts';
import { useFolder } from '../../test/folder.ts';
import { useS3 } from '../../test/s3.ts';
import { startTestService } from '../../test/service.ts';
import { createFileStore } from '../platform/objects/file-system.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import { createS3Store } from '../platform/objects/s3.ts';
import { auditLocally, pruneAudit, toEntry } from './audit.ts';
import { listAuditEntriesAfter } from './audit-queries.ts';
import { copyAudit, toStore } from './copy-audit.ts';
import { findFailingCopy, takeCopy } from './copy-queries.ts';
import type { Sealer } from './seal-audit.ts';

const db = useTestDatabase();
const s3 = useS3('once');
const dir = useFolder('once');
let folder: string;
let round = 0;
beforeEach(async () => {
  round += 1;
  folder = join(dir.path, `store-${round}`);
  await mkdir(folder);
});

const act = (target: string, into = db) =>
  auditLocally(into, 'this machine', {
    action: 'endpoint.update',
    target,
    after: { url: `https://h/${target}?key=s3cret` },
  });

/** Who seals nothing, as there is no seal in these databases. */
const sealer: Sealer = { keys: [{ id: '01', key: Buffer.alloc(32, 1) }], dataDir: tmpdir() };

const location = () => `file://${folder}`;

const opening = (openStore: () => Promise<ObjectStore>) => async () =>
  toStore(await openStore(), dir.path);

const copy = (
  openStore: () => Promise<ObjectStore> = async () => createFileStore(folder),
  { from = db, signal = new AbortController().signal } = {},
) =>
  copyAudit(from, {
    open: opening(openStore),
    location: location(),
    log: { warn: () => {} },
    signal,
  });

/** A store that puts an object otherwise. */
const storeWith = (put: (store: ObjectStore) => ObjectStore['put']) => async () => {
  const store = createFileStore(folder);
  return { ...store, put: put(store) };
};

/** The objects of the store by their names, and the places that each has. */
async function copied() {
  const names = (await readdir(join(folder, 'audit'), { recursive: true }))
    .filter((name) => name.endsWith('.ndjson'))
    .sort();
  const texts = await Promise.all(
    names.map((name) => readFile(join(folder, 'audit', name), 'utf8')),
  );
  return { names, lines: texts.map((text) => text.trimEnd().split('\n')) };
}

const placesOf = (lines: readonly (readonly string[])[]) =>
  lines.flat().map((line) => (JSON.parse(line) as { place: number }).place);

async function stored() {
  const entries = await listAuditEntriesAfter(db, { reach: null }, { after: 0, limit: 1000 });
  return entries.map((entry) => JSON.stringify(toEntry(entry, null)));
}

test('entries are copied once each, as an export has them, under names that tell their places', async () => {
  await act('a');
  await act('b');
  await copy();
  await act('c');
  await copy();
  await copy();
  const { names, lines } = await copied();
  expect(lines.flat()).toEqual(await stored());
  expect(lines.flat().join()).not.toContain('s3cret');
  const expected = lines.map((each) => {
    const [first, last] = [each[0], each.at(-1)].map((line) => JSON.parse(line ?? ''));
    const ends = [first, last].map(({ place }) => String(place).padStart(15, '0'));
    return `${ends.join('-')}-${last.hash.slice(0, 8)}.ndjson`;
  });
  expect(names.map((name) => name.slice(11))).toEqual(expected);
  expect(names).toHaveLength(2);
});

test('a bucket that only lets objects be put and got takes the copy', async () => {
  const isOfCopy = (path: string) => new URL(path, s3.url).pathname.endsWith('.ndjson');
  const methods = ['PUT', 'GET', 'HEAD'];
  s3.behave((method, path) => (methods.includes(method) && isOfCopy(path) ? 'pass' : 'deny'));
  await act('t');
  await copy(() => createS3Store(s3.urlOf('copy')));
  await act('u');
  await copy(() => createS3Store(s3.urlOf('copy')));
  s3.behave(() => 'pass');
  const store = await createS3Store(s3.urlOf('copy'));
  const { signal } = new AbortController();
  const lines: string[] = [];
  for await (const { key } of store.list('audit/', signal)) {
    const path = join(folder, 'object');
    await store.get(key, path, signal);
    lines.push(...(await readFile(path, 'utf8')).trimEnd().split('\n'));
  }
  await store.close();
  expect(lines).toEqual(await stored());
});

test('a process that dies behind the object leaves no gap', async () => {
  await act('d');
  const dying = storeWith((store) => async (...given) => {
    await store.put(...given);
    throw new Error('killed');
  });
  await expect(copy(dying)).rejects.toThrow('killed');
  await act('e');
  await copy();
  const { lines } = await copied();
  const places = [...new Set(placesOf(lines))];
  expect(places).toEqual(placesOf([await stored()]));
});

test('a stop in the middle is not told as a fault, and another process goes on at once', async () => {
  await act('s');
  const stopping = new AbortController();
  const stopped = storeWith(() => async (_key, _path, signal) => {
    stopping.abort(new Error('the process stops'));
    signal?.throwIfAborted();
  });
  await expect(copy(stopped, { signal: stopping.signal })).rejects.toThrow('the process stops');
  expect(await findFailingCopy(db)).toBeUndefined();
  await copy();
  expect((await copied()).lines.flat()).toEqual(await stored());
});

test('databases that wrote other entries at the same places replace none of each other’s', async () => {
  const others = [await createTestDatabase(), await createTestDatabase()];
  for (const [index, from] of others.entries()) {
    await act(`of ${index}`, from);
    await copy(undefined, { from });
    await from.drop();
  }
  const { lines } = await copied();
  expect(placesOf(lines)).toEqual([1, 1]);
  const targets = lines.flat().map((line) => (JSON.parse(line) as { target: string }).target);
  expect(targets.sort()).toEqual(['of 0', 'of 1']);
});

test('one process copies at a time, and another goes on when its lease is over', async () => {
  await act('f');
  expect(await takeCopy(db, location())).toEqual({ place: 0 });
  await copy();
  expect(await readdir(folder)).toEqual([]);
  await db.query(sql`update audit_copies set leased_until = now() - interval '1 second'`);
  await copy();
  expect((await copied()).lines.flat()).toEqual(await stored());
});

test('a store that cannot be used is told with its error until it can', async () => {
  await act('g');
  const refuse = async (): Promise<ObjectStore> => {
    throw new Error('the bucket refuses');
  };
  await expect(copy(refuse)).rejects.toThrow('the bucket refuses');
  const first = await findFailingCopy(db);
  expect(first).toMatchObject({ location: location(), error: 'the bucket refuses' });
  await expect(copy(refuse)).rejects.toThrow('the bucket refuses');
  expect(await findFailingCopy(db)).toEqual(first);
  await copy();
  expect(await findFailingCopy(db)).toBeUndefined();
});

test('a store that fails for long is left alone for a while', async () => {
  await act('k');
  const refuse = async (): Promise<ObjectStore> => {
    throw new Error('the bucket refuses');
  };
  await expect(copy(refuse)).rejects.toThrow('the bucket refuses');
  await db.query(sql`
    update audit_copies set failing_since = now() - interval '8 minutes' where location = ${location()}`);
  await expect(copy(refuse)).rejects.toThrow('the bucket refuses');
  const [row] = await db.query<{ seconds: number }>(sql`
    select extract(epoch from leased_until - now())::int as seconds from audit_copies
    where location = ${location()}`);
  expect(row?.seconds).toBeGreaterThan(100);
  expect(row?.seconds).toBeLessThanOrEqual(110);
  expect(await findFailingCopy(db)).toMatchObject({ location: location() });
  // Nobody tries meanwhile.
  await copy(refuse);
  await db.query(sql`update audit_copies set leased_until = now() where location = ${location()}`);
  await copy();
  expect(await findFailingCopy(db)).toBeUndefined();
});

test('processes that copy to two stores forget nothing of each other, and one that ends is no alarm', async () => {
  const other = join(dir.path, `other-${round}`);
  await mkdir(other);
  const copyOther = (openStore = async (): Promise<ObjectStore> => createFileStore(other)) =>
    copyAudit(db, {
      open: opening(openStore),
      location: `file://${other}`,
      log: { warn: () => {} },
      signal: new AbortController().signal,
    });
  await act('h');
  await copy();
  await copyOther();
  await act('i');
  await copy();
  await copyOther();
  await copy();
  const { lines } = await copied();
  expect(lines.flat()).toEqual(await stored());
  const refuse = async (): Promise<ObjectStore> => {
    throw new Error('the bucket refuses');
  };
  await act('j');
  await expect(copyOther(refuse)).rejects.toThrow('the bucket refuses');
  expect(await findFailingCopy(db)).toMatchObject({ location: `file://${other}` });
  const wasLooked = (ago: string) =>
    db.query(sql`
      update audit_copies set leased_until = now() - ${ago}::interval
      where location = ${`file://${other}`}`);
  await wasLooked('1 hour');
  expect(await findFailingCopy(db)).toBeUndefined();
  await wasLooked('2 days');
  await copy();
  expect(
    await db.query(sql`select from audit_copies where location = ${`file://${other}`}`),
  ).toEqual([]);
});

test('a service copies what it has once it is ready', async () => {
  const service = await startTestService({ SVC_AUDIT_COPY_URL: `file://${folder}` });
  try {
    await vi.waitUntil(async () => (await readdir(folder)).includes('audit'), { timeout: 30_000 });
    await expect.poll(async () => placesOf((await copied()).lines)[0]).toBe(1);
  } finally {
    await service.stop();
  }
});

test('what is yet to be copied to any store is not pruned, however old it is', async () => {
  const own = await createTestDatabase();
  try {
    for (const target of ['one', 'two']) await act(target, own);
    const prune = async (copiedTo = [location()]) => {
      const signal = new AbortController().signal;
      await pruneAudit(own, { days: 30, copiedTo, sealer, signal });
      const entries = await listAuditEntriesAfter(own, { reach: null }, { after: 0, limit: 100 });
      return entries.filter(({ action }) => action === 'endpoint.update').map((one) => one.target);
    };
    await own.query(sql`update audit_log set at = at - interval '100 days'`);
    expect(await prune()).toEqual(['one', 'two']);
    // Another process copies elsewhere, and is behind.
    await takeCopy(own, 's3://other');
    await copy(undefined, { from: own });
    expect(await prune()).toEqual(['one', 'two']);
    expect(await prune([])).toEqual(['one', 'two']);
    await own.query(sql`
      update audit_copies set leased_until = now() - interval '25 hours' where location = 's3://other'`);
    await act('three', own);
    await own.query(sql`update audit_log set at = now() - interval '100 days'`);
    // Nobody looks at that store any more, but this process has it in its settings.
    expect(await prune([location(), 's3://other'])).toEqual(['one', 'two', 'three']);
    expect(await prune()).toEqual(['three']);
  } finally {
    await own.drop();
  }
});
