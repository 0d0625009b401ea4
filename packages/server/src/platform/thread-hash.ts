import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

const worker = fileURLToPath(new URL('../../bin/file-worker.js', import.meta.url));
/** So much of what is in memory goes to the thread at a time, and so much of a file: others wait for no more than that. */
const updateBytes = 512 * 1024;
const readBytes = 2 * 1024 * 1024;
/** A file of no more than this is hashed here: that takes no longer than asking the thread. */
const fewBytes = 64 * 1024;
/** The thread ends when nobody has needed it for so long. */
const idleMillis = 10_000;

/** A SHA-256 in a low-priority thread that all share: a second of it here would stop requests. Await each call. */
export class ThreadHash {
  readonly id = ++lastId;
  #memory: SharedArrayBuffer | undefined;

  /** Begins empty or, with `from`, as a copy of that one. */
  constructor(from?: ThreadHash) {
    live += 1;
    abandoned.register(this, this.id, this);
    send({ op: 'begin', hash: this.id, from: from?.id });
  }

  /** Adds bytes. */
  async update(bytes: Uint8Array, { into, also }: Beside = {}): Promise<void> {
    this.#memory ??= new SharedArrayBuffer(updateBytes);
    const shared = new Uint8Array(this.#memory);
    for (let at = 0; at < bytes.length; at += updateBytes) {
      const piece = bytes.subarray(at, at + updateBytes);
      shared.set(piece);
      const { length } = piece;
      await ask({
        op: 'update',
        to: this.#with(also),
        memory: this.#memory,
        length,
        into: into?.fd,
      });
    }
  }

  /** Adds the bytes of an open file from `start` to before `end`, or to its end. */
  async addFile(
    file: FileHandle,
    { start = 0, end = Number.POSITIVE_INFINITY, signal, onChunk, ...beside }: FileStretch = {},
  ): Promise<void> {
    for (let at = start; at < end; ) {
      signal?.throwIfAborted();
      const until = Math.min(end, at + readBytes);
      const { also, into } = beside;
      const stretch = { fd: file.fd, at, until, into: into?.fd };
      const count = await ask({ op: 'read', to: this.#with(also), ...stretch });
      if (count === 0) return;
      at += Number(count);
      await onChunk?.(Number(count));
    }
  }

  /** The hash, which takes no more bytes from now on. */
  async digest(): Promise<Buffer> {
    abandoned.unregister(this);
    live -= 1;
    return Buffer.from((await ask({ op: 'digest', hash: this.id })) as Uint8Array);
  }

  #with(also: ThreadHash | undefined): number[] {
    return also === undefined ? [this.id] : [this.id, also.id];
  }
}

/** A file that the bytes are appended to, and another hash that they are added to as well. */
type Beside = { readonly into?: FileHandle; readonly also?: ThreadHash };

type FileStretch = Beside & {
  readonly start?: number;
  readonly end?: number;
  readonly signal?: AbortSignal | undefined;
  /** Is awaited after each of its chunks. */
  readonly onChunk?: ((bytes: number) => Promise<void>) | undefined;
};

/** Returns the SHA-256 of a local file, or of its bytes from `start` to before `end`. */
export async function hashFile(path: string, options: FileStretch = {}): Promise<Buffer> {
  const { start = 0, signal, onChunk } = options;
  signal?.throwIfAborted();
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const length = Math.min(options.end ?? size, size) - start;
    if (length <= fewBytes) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
      await onChunk?.(bytesRead);
      return createHash('sha256').update(buffer.subarray(0, bytesRead)).digest();
    }
    const hash = new ThreadHash();
    await hash.addFile(file, options);
    return await hash.digest();
  } finally {
    await file.close();
  }
}

type Waiting = { resolve: (value: unknown) => void; reject: (error: unknown) => void };

let lastId = 0;
/** How many hashes the thread holds. */
let live = 0;
let thread: Worker | undefined;
let idle: NodeJS.Timeout | undefined;
const waiting = new Map<number, Waiting>();

/** Forgets the hashes whose work ended with an error, once nothing refers to them any more. */
const abandoned = new FinalizationRegistry<number>((hash) => {
  live -= 1;
  send({ op: 'drop', hash });
});

function ask(asked: { readonly op: string; [name: string]: unknown }): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const id = ++lastId;
    waiting.set(id, { resolve, reject });
    send({ ...asked, id });
  });
}

function send(message: object): void {
  thread ??= start();
  clearTimeout(idle);
  thread.postMessage(message);
  // The process stays for those who wait for an answer, and not for the thread itself.
  if (waiting.size > 0) thread.ref();
  else rest(thread);
}

function start(): Worker {
  const started = new Worker(worker);
  started.on('message', ({ id, value, error }) => {
    const asker = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asker?.resolve(value);
    else asker?.reject(Object.assign(new Error(error.message), error));
    if (waiting.size === 0) rest(started);
  });
  const lose = (error: Error) => {
    if (thread !== started) return;
    thread = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  started.on('error', lose);
  started.on('exit', () => lose(new Error('the thread that hashes has ended')));
  started.unref();
  return started;
}

function rest(resting: Worker): void {
  resting.unref();
  if (live > 0) return;
  idle = setTimeout(() => {
    thread = undefined;
    void resting.terminate();
  }, idleMillis);
  idle.unref();
}
