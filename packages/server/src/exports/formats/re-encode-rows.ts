import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReEncoder } from '../csv/re-encode.ts';
import type { TierRows } from '../tiers/tier-rows.ts';

/** Re-encoded between two turns of the event loop, 2 ms or so: pages are answered in between. */
const turnBytes = 64 * 1024;

/** Rows of a tier, encoded otherwise. */
export function reEncodeRows(rows: TierRows, encoder: ReEncoder): TierRows {
  const encode = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; at += turnBytes) {
        yield encoder.encode(piece.subarray(at, at + turnBytes));
        await nextTurn();
      }
    }
  };
  return {
    whileConnected: () => encode(rows.whileConnected()),
    afterwards: () => encode(rows.afterwards()),
    get rowCount() {
      return rows.rowCount;
    },
    close: () => rows.close(),
  };
}
