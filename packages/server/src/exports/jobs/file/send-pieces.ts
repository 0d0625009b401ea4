import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { ObjectReader, OpenObject } from '../../../platform/objects/objects.ts';
import { ReaderGone, write } from '../../send-stream.ts';
import type { Piece } from './pieces.ts';

const chunkBytes = 256 * 1024;

export type SendOptions = {
  readonly objects: ObjectReader;
  readonly pieces: readonly Piece[];
  readonly stallMillis: number;
  /** Aborted when the reader is gone. */
  readonly signal: AbortSignal;
  /** Called when the first piece is open: from then on there is no answering with an error. */
  readonly onOpen: () => void;
};

/**
 * Sends stretches of objects one after the other, at the reader’s pace: it costs one open file. Each object
 * is checked before a byte of it is sent. Throws ObjectMissing, ObjectDamaged, `ReaderGone`.
 */
export async function sendPieces(response: ServerResponse, options: SendOptions): Promise<void> {
  const { objects, pieces, stallMillis, signal, onOpen } = options;
  let isOpen = false;
  for (const { ref, start, end } of pieces) {
    if (signal.aborted) throw new ReaderGone('the reader hung up');
    const opened = await objects.open(ref, { anew: true, signal });
    try {
      if (!isOpen) onOpen();
      isOpen = true;
      await sendFile(response, opened, { start, end, stallMillis });
    } finally {
      await opened.release();
    }
  }
  if (!isOpen) onOpen();
}

async function sendFile(
  response: ServerResponse,
  { path }: OpenObject,
  { start, end, stallMillis }: { start: number; end: number; stallMillis: number },
): Promise<void> {
  const file = createReadStream(path, { start, end: end - 1, highWaterMark: chunkBytes });
  for await (const chunk of file) await write(response, chunk as Buffer, stallMillis);
}
