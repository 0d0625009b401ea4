import { createHash, type Hash, randomUUID } from 'node:crypto';
import {
  type FileHandle,
  link,
  open,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { AppError } from '../../kernel/errors.ts';
import type { Writer } from '../io.ts';

/** Takes the bytes of a download, which may break off and go on. */
export type Sink = {
  /** Whether the bytes are printed, so that they cannot be dropped. */
  readonly isPrinted: boolean;
  /** How many bytes it holds. */
  sizeBytes(): number;
  /** Drops all bytes, and begins anew. */
  begin(): Promise<void>;
  write(piece: Uint8Array): Promise<void>;
  /** The SHA-256 of all bytes, in hex. */
  sha256(): string;
  /** Makes sure that the bytes are on the disk, and gives the file its name. */
  keep(): Promise<void>;
  /** Removes everything. Does nothing after `keep`. */
  discard(): Promise<void>;
  /** Keeps the bytes for a later run, and answers how many they are. 0 after `keep` and `discard`. */
  leave(): Promise<number>;
};

export type PartOptions = {
  mayReplace: boolean;
  /** The SHA-256 of a whole file that a later run can go on with; null when there is none yet. */
  sha256: string | null;
  signal: AbortSignal;
};

const readBytes = 1 << 20;

/**
 * Opens a file that gets its name only when it is complete. Until then it is FILE.part, with FILE.part.json beside it,
 * which names the whole file by its SHA-256: a later run goes on with the part of the same file. Throws
 * `file_unreadable` when the name is taken, unless it may be replaced.
 */
export async function openPartFile(path: string, options: PartOptions): Promise<Sink> {
  await checkTarget(path, options.mayReplace);
  const part = `${path}.part`;
  const note = noteOf(part);
  let handle: FileHandle | undefined;
  let hash = createHash('sha256');
  let size = 0;
  if (options.sha256 !== null && (await readNote(note)) === options.sha256) {
    handle = await open(part, 'r+').catch(() => undefined);
    if (handle !== undefined) size = await addAll(hash, handle, options.signal);
  }
  const begun = () => {
    if (handle === undefined) throw new Error('it was not begun');
    return handle;
  };
  const close = async () => {
    await handle?.close();
    handle = undefined;
  };
  return {
    isPrinted: false,
    sizeBytes: () => size,
    begin: () =>
      writing(part, async () => {
        await close();
        // What a killed run has left is removed rather than overwritten: if its writer still lives, it goes on writing
        // into a file without a name, and learns that from `isOurs`. This comes first, so that a second run, which
        // fails here, does not touch the note of the first.
        await rm(part, { force: true });
        handle = await open(part, 'wx');
        if (options.sha256 === null) await rm(note, { force: true });
        else await writeFile(note, JSON.stringify({ sha256: options.sha256 }));
        size = 0;
        hash = createHash('sha256');
      }),
    async write(piece) {
      await writing(part, () => writeAll(begun(), piece, size));
      hash.update(piece);
      size += piece.length;
    },
    sha256: () => hash.copy().digest('hex'),
    keep: () =>
      writing(path, async () => {
        await begun().sync();
        await keepPart(part, begun(), { path, mayReplace: options.mayReplace });
        await close();
      }),
    async discard() {
      const taken = handle === undefined ? null : await takePart(part, handle);
      if (taken !== null) await rm(taken, { force: true });
      await close();
    },
    async leave() {
      const left = handle !== undefined && (await isOurs(part, handle)) ? size : 0;
      await close();
      return left;
    },
  };
}

/** A sink that prints to stdout. What was printed cannot be dropped. */
export function createStdoutSink(out: Writer): Sink {
  const hash = createHash('sha256');
  let size = 0;
  return {
    isPrinted: true,
    sizeBytes: () => size,
    async begin() {
      if (size === 0) return;
      throw new AppError('export_mismatch', {
        detail:
          'The file changed while it was printed. Do not use what was printed; give --out FILE.',
      });
    },
    async write(piece) {
      await out.write(piece);
      hash.update(piece);
      size += piece.length;
    },
    sha256: () => hash.copy().digest('hex'),
    keep: async () => {},
    discard: async () => {},
    leave: async () => 0,
  };
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

/** The name of the note beside FILE.part, which says to which file a part belongs. */
function noteOf(part: string): string {
  return `${part}.json`;
}

/** The SHA-256 of the whole file; null when there is no note, or only half of one: there is nothing to go on with. */
async function readNote(path: string): Promise<string | null> {
  try {
    const { sha256 } = JSON.parse(await readFile(path, 'utf8')) as { sha256?: unknown };
    return typeof sha256 === 'string' ? sha256 : null;
  } catch {
    return null;
  }
}

/** Hashes what is on the disk. It is read again, because after a power cut it may not be what was written. */
async function addAll(hash: Hash, handle: FileHandle, signal: AbortSignal): Promise<number> {
  const buffer = Buffer.allocUnsafe(readBytes);
  let size = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, readBytes, size);
    if (bytesRead === 0) return size;
    hash.update(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
}

/**
 * Every piece is written at its own position: two downloads of the same file write the same bytes, whichever is first.
 */
export async function writeAll(
  handle: FileHandle,
  piece: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < piece.length; ) {
    const { bytesWritten } = await handle.write(piece, done, piece.length - done, position + done);
    done += bytesWritten;
  }
}

/** Gives FILE.part its name. Throws when it belongs to another run, or the name is taken; FILE.part is removed then. */
async function keepPart(
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

/**
 * Moves our FILE.part to a name that no other run knows, and removes its note; null when it belongs to another run.
 * Checking it and then renaming or removing it would act on the file of a run that begins in between. Under the new
 * name it can be checked, because nobody replaces it there.
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

/** Whether FILE.part is the file that we have opened, and not that of a run which began after ours. */
async function isOurs(part: string, handle: FileHandle): Promise<boolean> {
  const found = await stat(part).catch(() => null);
  return found !== null && found.ino === (await handle.stat()).ino;
}

/** Throws what fails as an error of the catalogue. */
export async function writing(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AppError('file_unreadable', {
      detail: `${path} cannot be written: ${reason}.`,
      cause: error,
    });
  }
}
