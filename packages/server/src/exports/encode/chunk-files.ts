import { type FileHandle, mkdir, open, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createGate, type Gate } from '../../kernel/gate.ts';
import { randomText } from '../../kernel/ids.ts';
import type { Chunk } from '../../records/index.ts';

/** Rows as bytes, in memory or in a file that whoever takes them may hand on without reading it. */
export type RowPiece = Buffer | FilePiece;

/** The bytes of a file from `start` to before `end`, to be read once. */
type FilePiece = {
  readonly length: number;
  readonly start: number;
  readonly end: number;
  /** Opens the file, which has no name from then on, so that its space is free at the end, even after a crash. */
  readonly take: () => Promise<{ readonly file: FileHandle; readonly close: () => Promise<void> }>;
};

/** A file that nobody else knows, as a piece; `onClose` is called when it has been read. */
export function filePiece(
  path: string,
  { start, end, onClose }: { start: number; end: number; onClose?: () => void },
): FilePiece {
  return {
    start,
    end,
    length: end - start,
    async take() {
      const file = await open(path, 'r');
      await unlink(path);
      return {
        file,
        async close() {
          await file.close();
          onClose?.();
        },
      };
    },
  };
}

/** Reads pieces into memory. */
export async function* bytesOf(
  pieces: AsyncIterable<RowPiece> | Iterable<RowPiece>,
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    if (Buffer.isBuffer(piece)) {
      yield piece;
      continue;
    }
    const { file, close } = await piece.take();
    try {
      for (let at = piece.start; at < piece.end; ) {
        // Whoever takes the bytes keeps them for a while, so each piece has memory of its own.
        const own = Buffer.allocUnsafeSlow(Math.min(readBytes, piece.end - at));
        const { bytesRead } = await file.read(own, 0, own.length, at);
        if (bytesRead === 0) throw new Error('a file of rows is shorter than it was');
        yield own.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      await close();
    }
  }
}

/** A chunk that was written to a file as CSV. */
export type ChunkFile = Encoded & { readonly piece: FilePiece };

/** What is known of the rows of a chunk. */
export type Encoded = {
  readonly rowCount: number;
  /** The digest of the records, read from the same files once more; null when it was not asked for. */
  readonly digest: bigint | null;
};

/** The chunk files of one export. */
export type ChunkFiles = {
  /** Begins to encode a chunk once there is a place for its file. Chunks must be read in the order of these calls. */
  start(chunk: Chunk, isKeyed: boolean): Promise<ChunkFile>;
  /** Removes all files. Cancel what still runs before. */
  close(): Promise<void>;
};

type ChunkFilesOptions = {
  /** A folder of this process. The export makes a folder of its own in it. */
  spoolDir: string;
  /** Limits how many chunks are encoded at once, over all exports that share it. */
  encoders: Gate;
  /** Writes the rows to a path. */
  encode(chunk: Chunk, target: { isKeyed: boolean; path: string }): Promise<Encoded>;
};

/** How many files there are at a time: two are encoded while the one before them is read. */
const places = 3;
const readBytes = 512 * 1024;

export async function createChunkFiles(options: ChunkFilesOptions): Promise<ChunkFiles> {
  const dir = join(options.spoolDir, `export-${randomText(12)}`);
  await mkdir(dir, { mode: 0o700 });
  const files = createGate(places);
  let count = 0;
  let isClosed = false;

  const encode = async (chunk: Chunk, isKeyed: boolean, release: () => void) => {
    const path = join(dir, `${count++}.csv`);
    const encoded = await options.encoders.run(async () => {
      if (isClosed) throw new Error('the export was closed');
      return options.encode(chunk, { isKeyed, path });
    });
    const { size } = await stat(path);
    return { ...encoded, piece: filePiece(path, { start: 0, end: size, onClose: release }) };
  };
  return {
    start(chunk, isKeyed) {
      const made = hold(files, (release) => encode(chunk, isKeyed, release));
      // Whoever waits for the file gets this error; until then nobody may be waiting.
      made.catch(() => {});
      return made;
    },
    async close() {
      isClosed = true;
      // A query that was cancelled may go on writing for a moment; its file is removed with the folder.
      await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    },
  };
}

/** Holds a place of the gate until `release` is called, by `work` or whoever it gives it to, or `work` fails. */
function hold<T>(gate: Gate, work: (release: () => void) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    void gate.run(
      () =>
        new Promise<void>((release) => {
          work(release).then(resolve, (error: unknown) => {
            release();
            reject(error);
          });
        }),
    );
  });
}
