import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gzip } from 'node:zlib';
import type { Compression } from '../contract.ts';

/** Each a gzip member or zstd frame of its own: then the same bytes come out however they came in. */
const blockBytes = 4 * 1024 * 1024;
const worker = fileURLToPath(new URL('../../../bin/zstd-worker.js', import.meta.url));
const gzipBlock = promisify(gzip);

/**
 * Compresses one piece of a file: its head, the body of a part, or its tail. Depends on nothing but the
 * bytes, not on how they are cut; no bytes stay none. What comes out may be appended to other pieces.
 */
export async function* compress(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  compression: Compression,
): AsyncGenerator<Buffer> {
  switch (compression) {
    case 'none':
      yield* pieces;
      return;
    case 'gzip':
      // Level 3: twice as fast as 6 for 6 % more bytes.
      for await (const block of inBlocks(pieces)) yield await gzipBlock(block, { level: 3 });
      return;
    case 'zstd':
      yield* zstd(pieces);
  }
}

async function* zstd(pieces: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  let thread: ZstdThread | undefined;
  try {
    for await (const block of inBlocks(pieces)) {
      thread ??= startThread();
      yield await thread.compress(block);
    }
  } finally {
    await thread?.end();
  }
}

type ZstdThread = { compress(block: Buffer): Promise<Buffer>; end(): Promise<void> };

function startThread(): ZstdThread {
  const thread = new Worker(worker);
  return {
    compress(block) {
      return new Promise((resolve, reject) => {
        const done = () => thread.off('message', onFrame).off('error', onError).off('exit', onExit);
        const onFrame = (frame: Uint8Array) => {
          done();
          resolve(Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength));
        };
        const onError = (error: Error) => {
          done();
          reject(error);
        };
        const onExit = () => onError(new Error('the zstd thread ended'));
        thread.on('message', onFrame).on('error', onError).on('exit', onExit);
        thread.postMessage(block);
      });
    },
    async end() {
      await thread.terminate();
    },
  };
}

async function* inBlocks(pieces: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const piece of pieces) {
    let rest = piece;
    while (heldBytes + rest.length >= blockBytes) {
      const cut = blockBytes - heldBytes;
      yield Buffer.concat([...held, rest.subarray(0, cut)]);
      rest = rest.subarray(cut);
      held = [];
      heldBytes = 0;
    }
    if (rest.length > 0) held.push(rest);
    heldBytes += rest.length;
  }
  if (heldBytes > 0) yield Buffer.concat(held);
}
