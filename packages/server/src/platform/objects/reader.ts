import { link, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { type CheckOptions, createObjectChecks } from './check-object.ts';
import { ObjectCopies } from './object-copies.ts';
import {
  fromFileSystem,
  ObjectMissing,
  type ObjectReader,
  type ObjectRef,
  type ObjectStore,
  type OpenObject,
  systemCode,
} from './objects.ts';
import { makeSpoolDir } from './open-store.ts';

type ObjectReaderOptions = {
  /** The folder for links and copies. Each process makes a folder of its own in it. */
  readonly dir: string;
  /** How many bytes of copies are kept. An object that is larger can be read, but its copy is not kept. */
  readonly maxBytes: number;
  readonly log: Log;
};

/**
 * Opens objects for reading, in one of two ways.
 *
 * If the store is a file system, `anew` links the object into `dir`, under a name that stays whatever becomes of the
 * object, and hashes it there. Without `anew` the object's own path is returned; it is checked the first time and
 * whenever the file has changed. That costs one stat instead of a link, a hash and an unlink. It is safe because a page
 * is read in milliseconds and an object stays for a grace period after it was replaced.
 *
 * For any other store, and where a link cannot be made (another file system), the object is copied, or only the pieces of
 * it that are asked for. There `anew` hashes the copy that is already present; a caller who wants to know about the
 * object itself fetches it with `ObjectStore.get`.
 */
export function createObjectReader(
  store: ObjectStore,
  { dir, maxBytes, log }: ObjectReaderOptions,
): ObjectReader {
  const checks = createObjectChecks();
  let made: Promise<string> | null = null;
  let lastNumber = 0;

  const folder = (): Promise<string> => {
    made ??= makeSpoolDir(dir).catch((error: unknown) => {
      made = null;
      throw fromFileSystem(error, `The folder ${dir} for objects being read cannot be made`);
    });
    return made;
  };
  // The folder is made at once, so that what killed processes left there is cleared away at the start. Each call tries
  // again if that fails.
  folder().catch((error: unknown) => log.warn({ err: error }, 'objects cannot be opened yet'));

  const copies = new ObjectCopies({ store, checks, folder, maxBytes, log });

  const openLinked = async (path: string, ref: ObjectRef, options: CheckOptions) => {
    const linked = join(await folder(), `link-${++lastNumber}.parquet`);
    const isLinked = await tryLink(path, linked, ref);
    if (!isLinked) return await copies.open(ref, options);
    const release = () => rm(linked, { force: true });
    try {
      await checks.check(linked, ref, options);
    } catch (error) {
      // Pages must find the damage too, so the earlier check of the object's own path no longer counts.
      checks.forget(path);
      await release();
      throw error;
    } finally {
      checks.forget(linked);
    }
    return { path: linked, release };
  };

  return {
    // Where the service keeps its files is nobody's business.
    location: store.pathOf('any') === null ? store.location : 'the folder of the service',
    isRemote: store.pathOf('any') === null,
    async open(ref, { anew = false, pieces, signal } = {}): Promise<OpenObject> {
      signal?.throwIfAborted();
      const path = store.pathOf(ref.key);
      if (path === null) return await copies.open(ref, { anew, signal }, pieces);
      if (anew) return await openLinked(path, ref, { anew, signal });
      await checks.check(path, ref, { anew, signal });
      return { path, release: async () => {} };
    },
    async close() {
      const own = await folder().catch(() => null);
      if (own !== null) await rm(own, { recursive: true, force: true });
    },
  };
}

const unlinkable = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES'];

/** Links to the object. False: another file system, one that cannot link, or the object has all its links. */
async function tryLink(path: string, linked: string, ref: ObjectRef): Promise<boolean> {
  try {
    await link(path, linked);
    return true;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new ObjectMissing(ref.key);
    if (code !== null && unlinkable.includes(code)) return false;
    throw fromFileSystem(error, `The object ${ref.key} cannot be linked to ${linked}`);
  }
}
