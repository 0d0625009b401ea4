import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { useFolder } from '../../../test/folder.ts';
import { AppError } from '../../kernel/errors.ts';
import { createFileStore } from './file-system.ts';
import { fromFileSystem, type ObjectStore } from './objects.ts';
import { testObjectStore } from './testing/conformance.ts';

const dir = useFolder('once');
let count = 0;

testObjectStore('an object store on the file system', async () => {
  const root = join(dir.path, `store ${++count}`, 'cold');
  return {
    store: createFileStore(root),
    async seed(keys, content) {
      for (const key of keys) {
        mkdirSync(dirname(join(root, key)), { recursive: true });
        writeFileSync(join(root, key), content);
      }
    },
  };
});

describe('faults of the file system', () => {
  let root: string;
  let store: ObjectStore;
  let source: string;

  beforeEach(async () => {
    root = join(dir.path, `store ${++count}`, 'cold');
    store = createFileStore(root);
    source = join(dir.path, `source ${count}`);
    await writeFile(source, Buffer.alloc(3_000_000, 1));
  });

  test('a file in the place of the root is a 503 that names it', async () => {
    await mkdir(dirname(root), { recursive: true });
    await writeFile(root, 'a file');
    const error = await refusal(store.put('a/b', source));
    expect(error.status).toBe(503);
    expect(error.detail).toContain(`The object a/b cannot be written below ${root}`);
    expect(await readFile(root, 'utf8')).toBe('a file');
  });

  test('a file in the place of a folder is a 503, and nothing half is left', async () => {
    await store.put('a', source);
    await refusal(store.put('a/b', source));
    expect(await readdir(join(root, '.tmp'))).toEqual([]);
    expect(await store.head('a')).toEqual({ key: 'a', sizeBytes: 3_000_000 });
  });

  test('a disk that takes only a part of the file is a 503, and nothing half is left', async () => {
    await store.put('a', source);
    await writeFile(source, Buffer.alloc(4_000_000, 2));
    limitFileSize('2000000');
    try {
      expect((await refusal(store.put('a', source))).detail).toContain('EFBIG');
      const path = join(dir.path, 'half');
      expect((await refusal(store.get('a', path))).detail).toContain('EFBIG');
      expect(existsSync(path)).toBe(false);
    } finally {
      limitFileSize('unlimited');
    }
    expect(await readdir(join(root, '.tmp'))).toEqual([]);
    expect(await store.head('a')).toEqual({ key: 'a', sizeBytes: 3_000_000 });
  });

  test.each([
    ['on the same file system', () => source],
    ['copied from another', () => '/dev/shm'],
  ])('an object, %s, and its folders are for the owner alone', async (_where, from) => {
    const origin = from() === source ? source : join(from(), `svcctl-${process.pid}`);
    if (origin !== source) await writeFile(origin, 'x');
    await chmod(origin, 0o644);
    await store.put('a/b/c', origin);
    if (origin !== source) await rm(origin);
    const modes = ['', 'a', 'a/b', 'a/b/c', '.tmp'].map(async (name) => {
      return ((await stat(join(root, name))).mode & 0o777).toString(8);
    });
    expect(await Promise.all(modes)).toEqual(['700', '700', '700', '600', '700']);
  });

  test('a full disk is told with what to do about it', async () => {
    const full = await writeFile('/dev/full', 'a').catch((error: unknown) => error);
    const error = fromFileSystem(full, 'The object a cannot be written below /cold');
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).detail).toBe(
      'The object a cannot be written below /cold: no space is left (ENOSPC). Free some space, or ' +
        'point SVC_BLOB_URL to a larger store.',
    );
  });

  test('a listing removes what was left half more than a day ago, and nothing else', async () => {
    await store.put('a', source);
    const old = new Date(Date.now() - 25 * 3_600_000);
    const left = join(root, '.tmp', '1-left');
    await writeFile(left, 'half');
    await utimes(left, old, old);
    await writeFile(join(root, '.tmp', '1-fresh'), 'half');
    await utimes(join(root, 'a'), old, old);
    await mkdir(join(root, '.tmp', 'folder'));
    await utimes(join(root, '.tmp', 'folder'), old, old);
    const keys: string[] = [];
    for await (const { key } of store.list('')) keys.push(key);
    expect(keys).toEqual(['a']);
    expect((await readdir(join(root, '.tmp'))).sort()).toEqual(['1-fresh', 'folder']);
  });

  test('a put that a kill cut off is not listed', async () => {
    await mkdir(join(root, '.tmp'), { recursive: true });
    await writeFile(join(root, '.tmp', '1-left'), 'half');
    for await (const object of store.list('')) expect(object).toBeUndefined();
  });
});

/** Of this process, as a disk without space would; the error differs. */
function limitFileSize(soft: string): void {
  execFileSync('prlimit', [`--pid=${process.pid}`, `--fsize=${soft}:`]);
}

async function refusal(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw new Error('no AppError was thrown', { cause: error });
  expect(error.code).toBe('cold_tier_unavailable');
  return error;
}
