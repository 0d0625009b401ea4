import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, readFile, rm, writeFile } from 'node:fs/promises';
import { AppError } from '../../kernel/errors.ts';
import type { Writer } from '../io.ts';
import {
  checkTarget,
  isOurs,
  keepPart,
  noteOf,
  openPart,
  removePart,
  unwritable,
} from '../part-file.ts';

/** Takes the bytes of a download that may break off and go on. */
export type Sink = {
  /** How many bytes it holds. */
  sizeBytes(): number;
  /** The ETag of the file to which these bytes belong; null when there are none. */
  etag(): string | null;
  /** Drops all bytes, and begins with the file that has this ETag. */
  begin(etag: string | null): Promise<void>;
  write(piece: Uint8Array): Promise<void>;
  /** The SHA-256 of all bytes, in hex. */
  sha256(): string;
  /** Makes sure that the bytes are on the disk, and gives the file its name. */
  keep(): Promise<void>;
  /** Removes everything. */
  discard(): Promise<void>;
  /** Keeps the bytes for a later run, and answers how many they are. 0 after `keep` and `discard`. */
  leave(): Promise<number>;
};

/** The content of FILE.part.json: to which file the bytes of FILE.part belong. */
type Note = { etag: string; sha256: string };

const readBytes = 1 << 20;

/**
 * Opens a file that gets its name only when it is complete. Until then it is FILE.part, with FILE.part.json beside it.
 * A later run goes on with it if the complete file still has the same SHA-256.
 */
export async function openResumableFile(
  path: string,
  options: { mayReplace: boolean; sha256: string; signal: AbortSignal },
): Promise<Sink> {
  await checkTarget(path, options.mayReplace);
  const part = `${path}.part`;
  const note = noteOf(part);
  let etag: string | null = null;
  let handle: FileHandle | undefined;
  let hash = createHash('sha256');
  let size = 0;
  const left = await readNote(note);
  if (left !== null && left.sha256 === options.sha256) {
    handle = await open(part, 'r+').catch(() => undefined);
    if (handle !== undefined) {
      size = await addAll(hash, handle, options.signal);
      etag = left.etag;
    }
  }
  const close = async () => {
    await handle?.close();
    handle = undefined;
  };
  return {
    sizeBytes: () => size,
    etag: () => etag,
    async begin(next) {
      try {
        await close();
        // This comes first, so that a second run, which fails here, does not touch the note of the first.
        handle = await openPart(part);
        const written: Note | null = next === null ? null : { etag: next, sha256: options.sha256 };
        if (written === null) await rm(note, { force: true });
        else await writeFile(note, JSON.stringify(written));
      } catch (error) {
        throw unwritable(part, error);
      }
      etag = next;
      size = 0;
      hash = createHash('sha256');
    },
    async write(piece) {
      try {
        await writeAll(handle, piece, size);
      } catch (error) {
        throw unwritable(part, error);
      }
      hash.update(piece);
      size += piece.length;
    },
    sha256: () => hash.copy().digest('hex'),
    async keep() {
      try {
        if (handle === undefined) throw new Error('it was not begun');
        await handle.sync();
        await keepPart(part, handle, { path, mayReplace: options.mayReplace });
        await close();
      } catch (error) {
        throw error instanceof AppError ? error : unwritable(path, error);
      }
    },
    async discard() {
      if (handle !== undefined) await removePart(part, handle);
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
  let etag: string | null = null;
  let size = 0;
  return {
    sizeBytes: () => size,
    etag: () => etag,
    async begin(next) {
      if (size > 0) {
        throw new AppError('export_mismatch', {
          detail:
            'The file changed while it was printed. Do not use what was printed; give --out FILE.',
        });
      }
      etag = next;
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

/**
 * Every piece is written at its own position: two downloads of the same file write the same bytes, whichever is first.
 */
async function writeAll(
  handle: FileHandle | undefined,
  piece: Uint8Array,
  position: number,
): Promise<void> {
  if (handle === undefined) throw new Error('it was not begun');
  for (let done = 0; done < piece.length; ) {
    const { bytesWritten } = await handle.write(piece, done, piece.length - done, position + done);
    done += bytesWritten;
  }
}

async function readNote(path: string): Promise<Note | null> {
  try {
    const { etag, sha256 } = JSON.parse(await readFile(path, 'utf8')) as Partial<Note>;
    return typeof etag === 'string' && typeof sha256 === 'string' ? { etag, sha256 } : null;
  } catch {
    // There is no note, or only half of one: there is nothing to go on with.
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
