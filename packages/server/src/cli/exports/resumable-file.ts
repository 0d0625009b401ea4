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

/** Where a download goes that may break off and go on. */
export type Sink = {
  /** Bytes that are there. */
  sizeBytes(): number;
  /** The ETag of what they are a part of; null: nothing is there. */
  etag(): string | null;
  /** Drops what is there: from now on it is a part of this. */
  begin(etag: string | null): Promise<void>;
  write(piece: Uint8Array): Promise<void>;
  /** Of all bytes that are there, in hex. */
  sha256(): string;
  /** On disk for good, and under its name. */
  keep(): Promise<void>;
  /** Leaves nothing behind. */
  discard(): Promise<void>;
  /** Leaves what is there for a later run: answers how many bytes. None after `keep` and `discard`. */
  leave(): Promise<number>;
};

/** What FILE.part.json says of FILE.part. */
type Note = { etag: string; sha256: string };

const readBytes = 1 << 20;

/**
 * A file that appears under its name when it is whole. Until then it is FILE.part, with FILE.part.json
 * beside it: a later run goes on with it if the whole has the same SHA-256 still.
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
        // First, so that who comes too late for it leaves the other's note alone.
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

/** Stdout: what was printed cannot be dropped. */
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

/** At its place: two downloads of the same file write the same bytes, whoever is first. */
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
    // None, or half-written: then there is nothing to go on with.
    return null;
  }
}

/** What lies on the disk is hashed anew: after a power cut it may not be what was written. */
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
