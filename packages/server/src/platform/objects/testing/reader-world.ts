import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, open as openFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startS3, type TestS3 } from '../../../../test/s3.ts';
import { createLog } from '../../log.ts';
import { type Closers, closeAll } from '../../work/stop.ts';
import { createFileStore } from '../file-system.ts';
import type { ObjectReader, ObjectRef, ObjectStore } from '../objects.ts';
import { createObjectReader } from '../reader.ts';
import { createS3Store } from '../s3.ts';

export const MB = 1_000_000;

/** A reader of a store of its own, and a short way to put bytes into the store. */
export type ReaderWorld = {
  readonly store: ObjectStore;
  readonly reader: ObjectReader;
  readonly dir: string;
  readonly put: (key: string, content: Buffer) => Promise<ObjectRef>;
};

type ReaderWorlds = {
  readonly s3: TestS3;
  /** Makes a folder that goes with the tests of the file. */
  readonly makeFolder: (name: string) => Promise<string>;
  readonly on: (store: ObjectStore, maxBytes?: number) => Promise<ReaderWorld>;
  readonly onFiles: (maxBytes?: number) => Promise<ReaderWorld>;
  readonly onS3: (maxBytes?: number) => Promise<ReaderWorld>;
};

/** Gives the tests of a file readers of stores, which end after each test, and a server of S3. */
export function prepareReaders(): ReaderWorlds {
  let base: string;
  let s3: TestS3;
  const closers: Closers = [];
  const log = createLog('silent');

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'svcctl-reader-'));
    s3 = await startS3();
  });
  afterEach(async () => {
    s3.behave(() => 'pass');
    await closeAll(closers, log);
  });
  afterAll(async () => {
    await s3.close();
    await rm(base, { recursive: true, force: true });
  });

  const makeFolder = (name: string) => mkdtemp(join(base, `${name}-`));
  const on = async (store: ObjectStore, maxBytes = MB): Promise<ReaderWorld> => {
    const dir = join(await makeFolder('reader'), 'cache');
    const reader = createObjectReader(store, { dir, maxBytes, log });
    closers.push(() => store.close());
    closers.push(() => reader.close());
    const put = async (key: string, content: Buffer) => {
      const path = join(base, randomBytes(8).toString('hex'));
      await writeFile(path, content);
      await store.put(key, path);
      const sha256 = createHash('sha256').update(content).digest();
      return { key, sizeBytes: content.length, sha256 };
    };
    return { store, reader, dir, put };
  };
  return {
    get s3() {
      return s3;
    },
    makeFolder,
    on,
    onFiles: async (maxBytes) => on(createFileStore(await makeFolder('store')), maxBytes),
    async onS3(maxBytes) {
      const prefix = randomBytes(8).toString('hex');
      const world = await on(await createS3Store(s3.urlOf(prefix)), maxBytes);
      s3.clear();
      return world;
    },
  };
}

/** Files in the folder of the reader. */
export async function held({ dir }: ReaderWorld): Promise<string[]> {
  const names = await readdir(dir, { recursive: true });
  return names.filter((name) => name.endsWith('.parquet'));
}

/** One bit, in place, with the times it had before. */
export async function flipByte(path: string): Promise<void> {
  const { atime, mtime } = await stat(path);
  const file = await openFile(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, 100);
  await file.write(Buffer.from([byte.readUInt8(0) ^ 1]), 0, 1, 100);
  await file.close();
  await utimes(path, atime, mtime);
}
