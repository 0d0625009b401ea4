import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { AppError } from '../kernel/errors.ts';

/** A file that appears under its name only when it is whole; until then it is `FILE.part`. */
export type PartFile = {
  write(piece: Uint8Array): Promise<void>;
  /** On disk for good, then under its name. */
  keep(): Promise<void>;
  /** Leaves nothing behind. Harmless after `keep`. */
  discard(): Promise<void>;
};

/** Throws `file_unreadable` when the name is taken, unless it may be replaced. */
export async function createPartFile(path: string, mayReplace: boolean): Promise<PartFile> {
  await checkTarget(path, mayReplace);
  const part = `${path}.part`;
  let handle: FileHandle;
  try {
    // What a killed export left. Removed rather than overwritten: if its writer still lives, it goes
    // on writing into a file without a name, and `isOurs` tells it so.
    await rm(part, { force: true });
    await rm(noteOf(part), { force: true });
    handle = await open(part, 'wx');
  } catch (error) {
    throw unwritable(part, error);
  }
  const { ino } = await handle.stat();
  const isOurs = async () => (await stat(part).catch(() => null))?.ino === ino;
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
        if (!(await isOurs())) throw new Error('another export writes the same file');
        await checkTarget(path, mayReplace);
        await rename(part, path);
        isKept = true;
        await handle.close();
      } catch (error) {
        throw error instanceof AppError ? error : unwritable(path, error);
      }
    },
    async discard() {
      if (isKept) return;
      if (await isOurs()) await rm(part, { force: true });
      await handle.close();
    },
  };
}

/** Beside a part that a later run may go on with: what it is a part of. */
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

/** A failure to write, as one of our errors. */
export function unwritable(path: string, cause: unknown): AppError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AppError('file_unreadable', {
    detail: `${path} cannot be written: ${reason}.`,
    cause,
  });
}
