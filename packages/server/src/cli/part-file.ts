import { randomUUID } from 'node:crypto';
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import { AppError } from '../kernel/errors.ts';

/** A file that gets its name only when it is complete; until then it is `FILE.part`. */
export type PartFile = {
  write(piece: Uint8Array): Promise<void>;
  /** Makes sure that the bytes are on the disk, then gives the file its name. */
  keep(): Promise<void>;
  /** Removes the file. Does nothing after `keep`. */
  discard(): Promise<void>;
};

/** Creates FILE.part. Throws `file_unreadable` when the name is taken, unless it may be replaced. */
export async function createPartFile(path: string, mayReplace: boolean): Promise<PartFile> {
  await checkTarget(path, mayReplace);
  const part = `${path}.part`;
  let handle: FileHandle;
  try {
    handle = await openPart(part);
    await rm(noteOf(part), { force: true });
  } catch (error) {
    throw unwritable(part, error);
  }
  let isKept = false;
  return {
    async write(piece) {
      await handle.writeFile(piece).catch((error: unknown) => {
        throw unwritable(part, error);
      });
    },
    async keep() {
      try {
        await handle.sync();
        await keepPart(part, handle, { path, mayReplace });
        isKept = true;
        await handle.close();
      } catch (error) {
        throw error instanceof AppError ? error : unwritable(path, error);
      }
    },
    async discard() {
      if (isKept) return;
      await removePart(part, handle);
      await handle.close();
    },
  };
}

/**
 * Creates FILE.part. What a killed run has left is removed rather than overwritten: if its writer still lives, it goes
 * on writing into a file without a name, and learns that from `isOurs`.
 */
export async function openPart(part: string): Promise<FileHandle> {
  await rm(part, { force: true });
  return open(part, 'wx');
}

/** Whether FILE.part is the file that we have opened, and not that of a run which began after ours. */
export async function isOurs(part: string, handle: FileHandle): Promise<boolean> {
  const found = await stat(part).catch(() => null);
  return found !== null && found.ino === (await handle.stat()).ino;
}

/** Gives FILE.part its name. Throws when it belongs to another run, or the name is taken; FILE.part is removed then. */
export async function keepPart(
  part: string,
  handle: FileHandle,
  { path, mayReplace }: { path: string; mayReplace: boolean },
): Promise<void> {
  const taken = await takePart(part, handle);
  if (taken === null) throw new Error('another run writes the same file');
  try {
    await checkTarget(path, mayReplace);
    await rename(taken, path);
  } catch (error) {
    await rm(taken, { force: true });
    throw error;
  }
}

/** Removes FILE.part and its note, unless they belong to another run. */
export async function removePart(part: string, handle: FileHandle): Promise<void> {
  const taken = await takePart(part, handle);
  if (taken !== null) await rm(taken, { force: true });
}

/**
 * Moves our FILE.part to a name that no other run knows. Checking it and then renaming or removing it would act on the
 * file of a run that begins in between. Under the new name it can be checked, because nobody replaces it there.
 */
async function takePart(part: string, handle: FileHandle): Promise<string | null> {
  if (!(await isOurs(part, handle))) return null;
  const taken = `${part}.${randomUUID()}`;
  try {
    await rename(part, taken);
  } catch {
    return null;
  }
  if (await isOurs(taken, handle)) {
    await rm(noteOf(part), { force: true });
    return taken;
  }
  // It belongs to another run, so it gets its name back, unless yet another run has taken that name meanwhile.
  await link(taken, part).catch(() => {});
  await rm(taken, { force: true });
  return null;
}

/** The name of the note beside FILE.part, which says to which file a part belongs, so that a later run can go on. */
export function noteOf(part: string): string {
  return `${part}.json`;
}

/** Throws `file_unreadable` unless the file may be written under this name. */
export async function checkTarget(path: string, mayReplace: boolean): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found === null) return;
  if (!found.isFile()) {
    throw new AppError('file_unreadable', {
      detail: `${path} is not an ordinary file. To write to stdout: --out -`,
    });
  }
  if (!mayReplace) {
    throw new AppError('file_unreadable', {
      detail: `${path} exists already. Name another file, or replace it with --force.`,
    });
  }
}

/** A failure to write, as an error of the catalogue. */
export function unwritable(path: string, cause: unknown): AppError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AppError('file_unreadable', {
    detail: `${path} cannot be written: ${reason}.`,
    cause,
  });
}
