import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { startDatabaseProxy } from '../../../test/database-proxy.ts';
import { useFolder } from '../../../test/folder.ts';
import { startS3, type TestS3 } from '../../../test/s3.ts';
import type { Database } from '../postgres/database.ts';
import { openDatabase } from '../postgres/open-database.ts';
import { readFence } from '../postgres/store-fence.ts';
import { createStoreFence, type StoreFence } from './fence.ts';
import { createFileStore } from './file-system.ts';
import type { ObjectStore, StoreMarker } from './objects.ts';
import { createS3Store } from './s3.ts';

let original: TestDatabase;
let copy: TestDatabase;
let s3: TestS3;
const dir = useFolder();
beforeAll(async () => {
  [original, copy, s3] = await Promise.all([createTestDatabase(), createTestDatabase(), startS3()]);
});
afterAll(async () => {
  await Promise.all([original.drop(), copy.drop(), s3.close()]);
});
beforeEach(async () => {
  for (const db of [original, copy]) {
    await db.query(sql`update store_fence set confirmed = null, pending = '{}'`);
  }
});

let stores = 0;
const kinds: [string, () => Promise<ObjectStore>][] = [
  ['the file system', async () => createFileStore(join(dir.path, 'store'))],
  ['S3', () => createS3Store(s3.urlOf(`fence-${++stores}`))],
];

/** What a clone made at this moment knows of the store. */
async function clone(): Promise<void> {
  const { confirmed, pending } = await readFence(original);
  await copy.query(sql`update store_fence set confirmed = ${confirmed}, pending = ${pending}`);
}

function fenceOf(db: Database, store: ObjectStore, marker: Partial<StoreMarker> = {}) {
  return createStoreFence({
    db,
    store: { ...store, marker: { ...store.marker, ...marker } },
    isKnown: async () => true,
  });
}

const stateOf = async (fence: StoreFence) => (await fence.look()).state;

describe.each(kinds)('on %s', (_, open) => {
  let store: ObjectStore;
  let ours: StoreFence;
  let theirs: StoreFence;
  beforeEach(async () => {
    store = await open();
    [ours, theirs] = [fenceOf(original, store), fenceOf(copy, store)];
  });
  afterEach(() => store.close());

  test('of two copies the one that writes first goes on, until the other adopts the store', async () => {
    expect(await stateOf(ours)).toBe('unclaimed');
    await ours.advance();
    await clone();
    expect([await stateOf(ours), await stateOf(theirs)]).toEqual(['own', 'own']);
    await theirs.advance();
    await expect(ours.advance()).rejects.toMatchObject({ code: 'store_fenced' });
    expect([await stateOf(ours), await stateOf(theirs)]).toEqual(['elsewhere', 'own']);
    expect((await ours.look()).marked).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000000Z$/),
      by: expect.any(String),
    });
    await theirs.advance();
    await ours.adopt();
    await ours.advance();
    await expect(theirs.advance()).rejects.toMatchObject({ code: 'store_fenced' });
  });

  test.each(['before', 'after'] as const)(
    'a clone made while an advance was killed %s the store took it: whoever comes second stands still',
    async (when) => {
      const killed = fenceOf(original, store, {
        async swap(expected, text) {
          if (when === 'after') await store.marker.swap(expected, text);
          throw new Error('killed');
        },
      });
      for (const [first, second] of [
        [ours, theirs],
        [theirs, ours],
      ] as const) {
        await ours.adopt();
        await expect(killed.advance()).rejects.toThrow('killed');
        await clone();
        expect([await stateOf(ours), await stateOf(theirs)]).toEqual(['own', 'own']);
        await first.advance();
        await expect(second.advance()).rejects.toMatchObject({ code: 'store_fenced' });
        await first.advance();
      }
    },
  );

  test('a clone made before its original’s store took a token, and used after: neither harms the other', async () => {
    await ours.advance();
    // The original is suspended between its database and the store.
    const slow = fenceOf(original, store, {
      async swap(expected, text, signal) {
        await clone();
        await theirs.advance();
        return store.marker.swap(expected, text, signal);
      },
    });
    await expect(slow.advance()).rejects.toMatchObject({ code: 'store_fenced' });
    expect(await stateOf(theirs)).toBe('own');
  });

  test('of two copies that take it at once exactly one goes on', async () => {
    for (let round = 0; round < 4; round += 1) {
      await ours.adopt();
      await clone();
      const both = await Promise.allSettled([ours.advance(), theirs.advance()]);
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect([await stateOf(ours), await stateOf(theirs)].sort()).toEqual(['elsewhere', 'own']);
    }
  });

  test('whoever asks gets an advance that begins afterwards, one with all who ask meanwhile', async () => {
    const swapped: number[] = [];
    const later: Promise<void>[] = [];
    const leaving = new AbortController();
    let asked = 0;
    const ask = (signal?: AbortSignal) => {
      asked += 1;
      return fence.advance(signal);
    };
    const fence = fenceOf(original, store, {
      swap(...given) {
        swapped.push(asked);
        // These come while an advance is under way.
        if (swapped.length === 1) later.push(ask(leaving.signal), ask(), ask());
        return store.marker.swap(...given);
      },
    });
    await Promise.all([ask(), ask(), ask()]);
    leaving.abort(new Error('gone'));
    const [left, ...stayed] = later;
    await expect(left).rejects.toThrow('gone');
    await Promise.all(stayed);
    expect(swapped).toEqual([3, 6]);
  });

  test('processes of one database share it', async () => {
    const others = Array.from({ length: 6 }, () => fenceOf(original, store));
    const looks = others.map((fence) => fence.look());
    await Promise.all([...others.map((fence) => fence.advance()), ...looks]);
    expect(await stateOf(ours)).toBe('own');
    expect((await readFence(original)).pending).toEqual([]);
  });

  test('a process that lost its lock while the store was asked does no harm when it wakes', async () => {
    await ours.advance();
    let wake = () => {};
    let isAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const frozen = fenceOf(original, store, {
      async swap(expected, text, signal) {
        isAsked();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        return store.marker.swap(expected, text, signal);
      },
    });
    const late = frozen.advance();
    late.catch(() => {});
    await asked;
    await original.query(sql`
      select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`);
    // Its request reaches the store between our look and our change.
    let isFirst = true;
    const meanwhile = fenceOf(original, store, {
      async swap(expected, text, signal) {
        if (isFirst) wake();
        if (isFirst) await late.catch(() => {});
        isFirst = false;
        return store.marker.swap(expected, text, signal);
      },
    });
    await meanwhile.advance();
    await expect(late).rejects.toThrow();
    expect(await stateOf(ours)).toBe('own');
    await ours.advance();
  });

  test('a process that is frozen while the store is asked keeps nobody waiting for long', async () => {
    const proxy = await startDatabaseProxy(original.url);
    const through = openDatabase({ url: proxy.url, maxConnections: 1, onError: () => {} });
    const impatient = {
      ...through,
      openSession: () => through.openSession({ silenceSeconds: 0.4 }),
    };
    const frozen = fenceOf(impatient, store, {
      async swap(expected, text, signal) {
        proxy.freeze();
        await ours.advance();
        proxy.thaw();
        return store.marker.swap(expected, text, signal);
      },
    });
    // It has its lock no more, and the store another token than it found.
    await expect(frozen.advance()).rejects.toMatchObject({ code: 'database_unavailable' });
    await ours.advance();
    expect(await stateOf(ours)).toBe('own');
    await through.close();
    await proxy.close();
  });

  test('a store without a marker that holds what nobody here knows is not taken', async () => {
    const fence = createStoreFence({ db: original, store, isKnown: async () => false });
    await expect(fence.advance()).rejects.toMatchObject({
      code: 'store_fenced',
      detail: expect.stringContaining('SVC_BLOB_URL may name another place'),
    });
    expect(await stateOf(fence)).toBe('unclaimed');
    await fence.adopt();
    expect(await stateOf(fence)).toBe('own');
  });
});

test('a server that passes conditions over is not written to, and says what it lacks', async () => {
  const store = await createS3Store(s3.urlOf('old-server'));
  s3.behave(() => 'unconditional');
  await expect(fenceOf(original, store).advance()).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
    detail: expect.stringContaining('conditional writes'),
  });
  expect(await store.marker.read()).toBeNull();
  s3.behave(() => 'pass');
  await fenceOf(original, store).advance();
  await store.close();
});

test('a server that looks at a condition first and writes later is not written to', async () => {
  const store = await createS3Store(s3.urlOf('racing-server'));
  s3.behave((method) => (method === 'PUT' ? 'look_then_write' : 'pass'));
  await expect(fenceOf(original, store).advance()).rejects.toMatchObject({
    code: 'cold_tier_unavailable',
    detail: expect.stringContaining('at the same moment'),
  });
  s3.behave(() => 'pass');
  expect(await store.marker.read()).toBeNull();
  await fenceOf(original, store).advance();
  await store.close();
});

test('an answer that was lost, and asked for again, is no other database', async () => {
  const store = await createS3Store(s3.urlOf('lost-answer'));
  const fence = fenceOf(original, store);
  await fence.advance();
  let isLost = false;
  s3.behave((method) => {
    if (method !== 'PUT' || isLost) return 'pass';
    isLost = true;
    return 'lose_answer';
  });
  await fence.advance();
  s3.behave(() => 'pass');
  expect(isLost).toBe(true);
  expect(await stateOf(fence)).toBe('own');
  await store.close();
});
