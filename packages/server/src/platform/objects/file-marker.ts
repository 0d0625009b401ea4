import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { markerName, temporaryFolder } from './object-key.ts';
import type { StoreMarker } from './objects.ts';
import { fromFileSystem, storeUnavailable, systemCode } from './store-errors.ts';

const note = `This file's name says which database this store of cold data goes on with. Every database
that was ever used with the store knows some name; who knows this one may write here.
Leave it: see "Copies of a database" in docs/operations.md.
`;

/** While a name changes a look may see none, or two. */
const looks = 10;

/**
 * The marker of a store of files is the name of the one file in a folder of its own. A rename takes a name
 * to the next: of many at once one finds the file, whatever process is killed when. The first one comes with
 * its folder, which can be renamed only to where no other, or an empty one, lies.
 */
export function createFileMarker(root: string): StoreMarker {
  const folder = join(root, markerName);
  const pathOf = (text: string) => join(folder, text);

  async function first(text: string): Promise<boolean> {
    const made = join(root, temporaryFolder, `marker-${randomUUID()}`);
    await mkdir(made, { recursive: true });
    await writeFile(join(made, text), note, { flush: true });
    try {
      await rename(made, folder);
    } catch (error) {
      await rm(made, { recursive: true, force: true });
      if (!['ENOTEMPTY', 'EEXIST'].includes(systemCode(error) ?? '')) throw error;
      return false;
    }
    await sync(folder);
    await sync(root);
    return true;
  }

  async function next(expected: string, text: string): Promise<boolean> {
    try {
      await rename(pathOf(expected), pathOf(text));
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
      // NFS asks again when an answer was lost: then it was this very rename that took the file away.
      return (await stat(pathOf(text)).catch(() => null)) !== null;
    }
    await sync(folder);
    return true;
  }

  return {
    async read(signal) {
      signal?.throwIfAborted();
      let names: string[] = [];
      for (let look = 0; look < looks; look += 1) {
        names = await readdir(folder).catch((error: unknown) => {
          if (systemCode(error) === 'ENOENT') return [];
          throw fromFileSystem(error, `The marker of ${root} cannot be read`);
        });
        // What NFS and desktops leave behind begins with a dot.
        names = names.filter((name) => !name.startsWith('.'));
        if (names.length === 1) break;
      }
      if (names.length <= 1) return names[0] ?? null;
      throw storeUnavailable(`The marker of ${root} cannot be read`, `${folder} holds several`, {
        advice: 'Another store was copied over this one: keep the file of the one to go on with.',
      });
    },
    async swap(expected, text, signal) {
      signal?.throwIfAborted();
      try {
        return await (expected === null ? first(text) : next(expected, text));
      } catch (error) {
        throw fromFileSystem(error, `The marker of ${root} cannot be written`);
      }
    },
  };
}

/** Writes beside the objects what a kill may leave: a listing removes it a day later. */
export async function tryFileSystem(root: string): Promise<void> {
  const path = join(root, temporaryFolder, `try-${randomUUID()}`);
  try {
    await mkdir(join(root, temporaryFolder), { recursive: true });
    await writeFile(path, '');
    await rename(path, `${path}-`);
    await rm(`${path}-`);
  } catch (error) {
    throw fromFileSystem(error, `Nothing can be written below ${root}`);
  }
}

async function sync(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
