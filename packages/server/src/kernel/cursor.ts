import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from './errors.ts';

/** Where a page begins: at the row with this key, from which the list is read in this direction. */
export type Position = {
  direction: 'next' | 'prev';
  key: readonly string[];
  /** Whether the row of this key belongs to the page itself. Usually it is the row beside the page and does not. */
  isInclusive?: boolean;
};

/** What a cursor is bound to: the name of the list, and every filter and order that it was made with. */
export type CursorScope = { list: string; filters: Readonly<Record<string, string | undefined>> };

// 128 bits cannot be guessed, and they keep cursors short enough for a URL.
const macBytes = 16;

/**
 * Makes an opaque, signed cursor: the base64url of HMAC-SHA256 over scope and position, cut to 128 bits, and then the
 * position. The scope itself is not inside: a cursor that is sent with other filters simply fails the signature.
 */
export function encodeCursor(key: Buffer, scope: CursorScope, position: Position): string {
  const how = (position.direction === 'next' ? 1 : 0) + (position.isInclusive ? 2 : 0);
  const payload = Buffer.from(JSON.stringify([how, ...position.key]));
  return Buffer.concat([sign(key, scope, payload), payload]).toString('base64url');
}

/** Reads a cursor. Throws 400 `cursor_invalid` unless it was made with this key for this scope. */
export function decodeCursor(key: Buffer, scope: CursorScope, cursor: string): Position {
  const bytes = Buffer.from(cursor, 'base64url');
  const payload = bytes.subarray(macBytes);
  // Node's decoder skips characters that are not base64url. The comparison makes sure that a cursor has one spelling
  // only.
  const isWhole = bytes.length > macBytes && bytes.toString('base64url') === cursor;
  if (!isWhole || !timingSafeEqual(bytes.subarray(0, macBytes), sign(key, scope, payload))) {
    throw new AppError('cursor_invalid', {
      detail:
        'Start again without a cursor. A cursor goes only with the filters and the order it came from.',
    });
  }
  const [how, ...names] = JSON.parse(payload.toString()) as [number, ...string[]];
  return { direction: how & 1 ? 'next' : 'prev', key: names, isInclusive: (how & 2) !== 0 };
}

function sign(key: Buffer, scope: CursorScope, payload: Buffer): Buffer {
  const filters = Object.entries(scope.filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHmac('sha256', key)
    .update(JSON.stringify([scope.list, filters]))
    .update('\0')
    .update(payload)
    .digest()
    .subarray(0, macBytes);
}
