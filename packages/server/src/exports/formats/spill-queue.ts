import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { randomText } from '../../kernel/ids.ts';
import { systemCode } from '../../platform/objects/objects.ts';
import { bytesOf, type RowPiece } from '../encode/chunk-files.ts';

/** How much is kept in memory, and how much is read from the file at a time. */
const memoryBytes = 4 * 1024 * 1024;
const readBytes = 256 * 1024;

/**
 * A queue of bytes for a reader that may be slow: some megabytes in memory, the rest in a file of at most
 * `maxFileBytes` without a name, so that the snapshot is free meanwhile and a crash leaves nothing behind.
 */
export class SpillQueue {
  readonly #dir: string;
  readonly #maxFileBytes: number;
  readonly #openFile: (dir: string) => Promise<FileHandle>;
  /** The chunks in memory. They are older than everything in the file. */
  #memory: RowPiece[] = [];
  #memoryLength = 0;
  #file: FileHandle | null = null;
  #readAt = 0;
  #writeAt = 0;
  #isEnded = false;
  #failure: { error: unknown } | null = null;
  /** How many pieces are in files of others and were not read to their end. */
  #filesLeft = 0;
  #wake: (() => void)[] = [];

  constructor(dir: string, maxFileBytes: number, openFile = openNameless) {
    this.#dir = dir;
    this.#maxFileBytes = maxFileBytes;
    this.#openFile = openFile;
  }

  /** Adds a chunk; it waits while the file or its disk is full. `isPatient`, without a snapshot, waits for memory instead. */
  async push(chunk: RowPiece, isPatient = false): Promise<void> {
    if (!Buffer.isBuffer(chunk) && !isPatient) {
      for await (const bytes of bytesOf([chunk])) await this.push(bytes);
      return;
    }
    this.#throwIfFailed();
    while (isPatient && !this.#hasRoom(chunk)) {
      await this.#change();
      this.#throwIfFailed();
    }
    while (!this.#isFileEmpty && this.#writeAt + chunk.length > this.#maxFileBytes) {
      await this.#change();
      this.#throwIfFailed();
    }
    const isSpilled =
      Buffer.isBuffer(chunk) && !this.#hasRoom(chunk) && (await this.#append(chunk));
    if (!isSpilled) {
      // On a full disk the reader sets the pace.
      while (!this.#hasRoom(chunk)) {
        await this.#change();
        this.#throwIfFailed();
      }
      this.#memory.push(chunk);
      this.#memoryLength += chunk.length;
      if (!Buffer.isBuffer(chunk)) this.#filesLeft += 1;
    }
    this.#changed();
  }

  /** Waits until the reader has read what was pushed as files: their folder may go then. */
  async filesRead(): Promise<void> {
    while (this.#filesLeft > 0) {
      await this.#change();
      this.#throwIfFailed();
    }
  }

  /** Says that everything was pushed. */
  end(): void {
    this.#isEnded = true;
    this.#changed();
  }

  /** Makes both sides stop with this error. Only the first error counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#changed();
  }

  /** Yields what was pushed, in order. There may be only one reader. */
  async *chunks(): AsyncGenerator<RowPiece> {
    for (;;) {
      this.#throwIfFailed();
      const chunk = this.#memory.shift();
      if (chunk !== undefined) {
        this.#memoryLength -= chunk.length;
        this.#changed();
        yield chunk;
        if (!Buffer.isBuffer(chunk)) this.#fileRead();
      } else if (!this.#isFileEmpty) {
        yield await this.#readFile();
      } else if (this.#isEnded) {
        return;
      } else {
        await this.#change();
      }
    }
  }

  /** Closes the queue and its file. Both sides stop. */
  async close(): Promise<void> {
    this.fail(new Error('the export was closed'));
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }

  /** Memory takes a chunk if the file has nothing older, and it fits; one larger than the limit may be there alone. */
  #hasRoom(chunk: RowPiece): boolean {
    if (!this.#isFileEmpty) return false;
    return this.#memoryLength === 0 || this.#memoryLength + chunk.length <= memoryBytes;
  }

  get #isFileEmpty(): boolean {
    return this.#readAt === this.#writeAt;
  }

  /** Writes a chunk to the file. False: the disk has no room for it, and nothing was added. */
  async #append(chunk: Buffer): Promise<boolean> {
    try {
      await this.#write(chunk);
      return true;
    } catch (error) {
      if (['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '')) return false;
      throw error;
    }
  }

  async #write(chunk: Buffer): Promise<void> {
    const file = this.#file ?? (await this.#open());
    if (this.#isFileEmpty) {
      this.#readAt = 0;
      this.#writeAt = 0;
    }
    // A disk that is nearly full takes less than it is given, without an error.
    let written = 0;
    while (written < chunk.length) {
      const at = this.#writeAt + written;
      const { bytesWritten } = await file.write(chunk, written, chunk.length - written, at);
      if (bytesWritten === 0) throw new Error('the disk of the spill file is full');
      written += bytesWritten;
    }
    this.#writeAt += chunk.length;
  }

  async #readFile(): Promise<Buffer> {
    const length = Math.min(readBytes, this.#writeAt - this.#readAt);
    if (this.#file === null) throw new Error('the spill file is closed');
    const { buffer, bytesRead } = await this.#file.read(
      Buffer.allocUnsafe(length),
      0,
      length,
      this.#readAt,
    );
    if (bytesRead === 0) throw new Error('the spill file is shorter than what was written to it');
    this.#readAt += bytesRead;
    this.#changed();
    return buffer.subarray(0, bytesRead);
  }

  async #open(): Promise<FileHandle> {
    this.#file = await this.#openFile(this.#dir);
    if (this.#failure === null) return this.#file;
    // The queue was closed while the file was being opened.
    await this.close();
    throw this.#failure.error;
  }

  #fileRead(): void {
    this.#filesLeft -= 1;
    this.#changed();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #changed(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }

  #throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }
}

/** Opens a temporary file and removes its name at once. */
async function openNameless(dir: string): Promise<FileHandle> {
  const path = join(dir, `export-${randomText(12)}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}
