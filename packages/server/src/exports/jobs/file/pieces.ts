import type { ObjectRef } from '../../../platform/objects/objects.ts';
import type { FileEnds } from '../job.ts';
import type { PartObject } from '../runner/queries.ts';
import type { ByteRange } from './range.ts';

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
