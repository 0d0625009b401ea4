import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { ObjectReader, ObjectRef, OpenObject } from '../../platform/objects/objects.ts';
import { ReaderGone, write } from '../send-stream.ts';
import type { FileEnds } from './job.ts';
import type { PartObject } from './runner/queries.ts';

const chunkBytes = 256 * 1024;

type SendOptions = {
  readonly objects: ObjectReader;
  readonly pieces: readonly Piece[];
  readonly stallMillis: number;
  /** Is aborted when the reader is gone. */
  readonly signal: AbortSignal;
  /** Is called when the first piece is open. After that an error cannot be answered any more. */
  readonly onOpen: () => void;
};

/**
 * Sends pieces of objects one after the other, at the pace of the reader, with one file open at a time. Each object is
 * checked before any byte of it is sent. Throws ObjectMissing, ObjectDamaged, `ReaderGone`.
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

/** A stretch of an object that is a stretch of the file. */
export type Piece = { readonly ref: ObjectRef } & ByteRange;

/** The pieces of a file in their order: head, parts, tail. */
export function piecesOf(ends: FileEnds, parts: readonly PartObject[]): Piece[] {
  const { head_bytes, tail_bytes } = ends;
  const own: ObjectRef = {
    key: ends.object_key,
    sizeBytes: head_bytes + tail_bytes,
    sha256: Buffer.from(ends.sha256, 'hex'),
  };
  return [
    { ref: own, start: 0, end: head_bytes },
    ...parts.map(({ object_key, size_bytes, sha256 }) => ({
      ref: { key: object_key, sizeBytes: size_bytes, sha256 },
      start: 0,
      end: size_bytes,
    })),
    { ref: own, start: head_bytes, end: own.sizeBytes },
  ].filter(({ start, end }) => end > start);
}

/** The pieces, cut to a range of the file. */
export function slicePieces(pieces: readonly Piece[], range: ByteRange): Piece[] {
  const sliced: Piece[] = [];
  let at = 0;
  for (const { ref, start, end } of pieces) {
    const from = Math.max(start, start + range.start - at);
    const to = Math.min(end, start + range.end - at);
    if (from < to) sliced.push({ ref, start: from, end: to });
    at += end - start;
  }
  return sliced;
}

/** A range of a file in bytes: `start` is the first byte, `end` is the one after the last. */
export type ByteRange = { readonly start: number; readonly end: number };

/**
 * The range that a Range header asks for (RFC 9110 §14). null means the whole file, because there is no header, or it
 * is not understood, or it names several ranges. `unsatisfiable` means that no byte is in the range.
 */
export function parseRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | null | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const count = Math.min(Number(last), sizeBytes);
    return count === 0 ? 'unsatisfiable' : { start: sizeBytes - count, end: sizeBytes };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes) };
}

/** Whether an If-None-Match header names this tag. A weak tag counts as well, as RFC 9110 has it for this header. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '');
    return tag === '*' || tag === etag;
  });
}
