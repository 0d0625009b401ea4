import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { rowGroupBytes, vectorRows } from './segment-sql.ts';

/** A file of rows in key order, of which one segment is written; `bytes` is its size. */
export type SpoolPart = { readonly path: string; readonly count: number; readonly bytes: number };

export type SplitOptions = { readonly signal?: AbortSignal | undefined };

/**
 * Cuts a file of `spoolHotRows` where its records are so large that the fewest DuckDB puts into a row group
 * are too many for its memory: these get files of their own, each of one row group at most. Mostly nothing
 * is cut, and the file is the only part.
 */
export async function splitSpool(path: string, options: SplitOptions = {}): Promise<SpoolPart[]> {
  const { signal } = options;
  const splitter = createSplitter({ rows: vectorRows, bytes: rowGroupBytes });
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024, signal })) {
    splitter.add(chunk as Buffer);
  }
  const cuts = splitter.end();
  const [only] = cuts;
  if (only !== undefined && cuts.length === 1) return [{ path, ...only }];
  const parts: SpoolPart[] = [];
  let start = 0;
  for (const [index, cut] of cuts.entries()) {
    const part = `${path}.${index}`;
    await pipeline(
      createReadStream(path, { start, end: start + cut.bytes - 1 }),
      createWriteStream(part, { mode: 0o600 }),
      { ...(signal === undefined ? {} : { signal }) },
    );
    parts.push({ path: part, ...cut });
    start += cut.bytes;
  }
  await rm(path);
  return parts;
}

type Cut = { count: number; bytes: number };

const lineFeed = 0x0a;

/**
 * Finds where to cut lines: whatever is cut off either has no stretch of `rows` lines, counted from its
 * begin, with more than `bytes`, or is one with fewer lines that has about so many.
 */
export function createSplitter(block: { rows: number; bytes: number }) {
  const cuts: Cut[] = [];
  /** Whole blocks of the part at hand. */
  let whole: Cut = { count: 0, bytes: 0 };
  /** The block at hand. */
  let open: Cut = { count: 0, bytes: 0 };
  let lineBytes = 0;

  function cut(part: Cut): void {
    if (part.count > 0) cuts.push(part);
  }
  function addLine(bytes: number): void {
    if (open.count > 0 && open.bytes + bytes > block.bytes) {
      cut(whole);
      cut(open);
      [whole, open] = [
        { count: 0, bytes: 0 },
        { count: 0, bytes: 0 },
      ];
    }
    open = { count: open.count + 1, bytes: open.bytes + bytes };
    if (open.count < block.rows) return;
    whole = { count: whole.count + open.count, bytes: whole.bytes + open.bytes };
    open = { count: 0, bytes: 0 };
  }
  return {
    add(chunk: Uint8Array): void {
      let from = 0;
      for (;;) {
        const end = chunk.indexOf(lineFeed, from);
        if (end === -1) break;
        addLine(lineBytes + end + 1 - from);
        lineBytes = 0;
        from = end + 1;
      }
      lineBytes += chunk.length - from;
    },
    end(): Cut[] {
      cut({ count: whole.count + open.count, bytes: whole.bytes + open.bytes });
      return cuts;
    },
  };
}
