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

/** A stretch of an object that is a stretch of the file. */
export type Piece = { readonly ref: ObjectRef } & ByteRange;

/** The file as pieces in its order: head, parts, tail. */
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

/** What of the pieces lies in a range of the file. */
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

/** Bytes of a file, from the first to before the last. */
export type ByteRange = { readonly start: number; readonly end: number };

/**
 * What a Range header asks for of so many bytes (RFC 9110 §14): null = all of them, as it names no range
 * that is understood, or several; `unsatisfiable` = none of them.
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

/** Whether one of the tags of an If-None-Match header is this one; weak ones are as good. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '');
    return tag === '*' || tag === etag;
  });
}
