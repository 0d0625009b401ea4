import { rowGroupRows } from '../segments/segment-sql.ts';
import { joinKeyRanges, type KeyRange } from '../slice/slice.ts';
import type { Island } from './queries.ts';

/** How large steps and chunks are. Tests use small numbers, so that a few records already make many steps. */
export type CutOptions = {
  /** The number of rows of the first chunk. It is small, so that the first byte is sent soon. */
  firstRows: number;
  /** The most rows of a chunk. A store-day that lies in several segments may have more. */
  chunkRows: number;
  /** The most bytes of a chunk as NDJSON. It is kept as long as the rows of a run have about the same size. */
  chunkBytes: number;
  /** Neighbours of different tiers with fewer rows than this are merged row by row and not read one after the other. */
  smallRows: number;
};

export const usualCut: CutOptions = {
  firstRows: 4_096,
  chunkRows: rowGroupRows,
  chunkBytes: 32 * 1024 * 1024,
  smallRows: 5_000,
};

/** A chunk has at most this many runs, because each becomes a range in its statement. */
const chunkRuns = 1_000;

/** A stretch of the slice that is being gathered. */
type Part = {
  range: KeyRange;
  hotCount: number;
  runs: RowRun[];
  coldCount: number;
  coldBytes: number;
  /** Whether the rows of its runs overlap in key order. Such a part must not be cut. */
  isWhole: boolean;
};

/** Cuts a slice into steps, from its islands in the order of the keys. */
export class StepCutter {
  readonly #options: CutOptions;
  /** A store-day with several islands. It is kept until the next island shows that the day is complete. */
  #day: { part: Part; count: number } | null = null;
  /** Parts that may become one step with those that follow. */
  #open: Part | null = null;
  #isFirst = true;
  #steps: Step[] = [];

  constructor(options: CutOptions) {
    this.#options = options;
  }

  /** Returns the steps that this island completes. */
  add(island: Island): Step[] {
    const part = toPart(island);
    if (island.tier !== 'both') {
      this.#endDay();
      this.#place(part);
    } else if (this.#day !== null && isSameDay(this.#day.part.range, part.range)) {
      this.#day.part = { ...join(this.#day.part, part), isWhole: true };
    } else {
      this.#endDay();
      this.#day = { part, count: island.count };
    }
    return this.#take();
  }

  /** Returns the steps that are left. */
  end(): Step[] {
    this.#endDay();
    this.#close();
    return this.#take();
  }

  #take(): Step[] {
    const steps = this.#steps;
    this.#steps = [];
    return steps;
  }

  #endDay(): void {
    if (this.#day === null) return;
    const { part, count } = this.#day;
    this.#day = null;
    this.#place({ ...part, hotCount: count - part.coldCount });
  }

  #place(part: Part): void {
    if (part.hotCount > 0 || part.isWhole) {
      this.#join(part);
      return;
    }
    let rest = part;
    while (rest.coldCount > this.#roomFor(rest)) {
      const [head, tail] = split(rest, this.#roomFor(rest));
      this.#join(head);
      rest = tail;
    }
    this.#join(rest);
  }

  #join(part: Part): void {
    if (this.#open !== null && this.#mayJoin(this.#open, part)) {
      this.#open = join(this.#open, part);
    } else {
      this.#close();
      this.#open = part;
    }
    if (this.#isFirst && this.#open.hotCount === 0) {
      if (this.#open.coldCount >= this.#options.firstRows) this.#close();
    }
  }

  /** Whether two parts may be one step: cold ones that fit; hot and cold only if small, as merging is slow. */
  #mayJoin(open: Part, next: Part): boolean {
    if (open.coldCount === 0 && next.coldCount === 0) return true;
    const isFitting =
      open.runs.length + next.runs.length <= chunkRuns &&
      open.coldCount + next.coldCount <= this.#options.chunkRows &&
      open.coldBytes + next.coldBytes <= this.#options.chunkBytes;
    if (open.hotCount === 0 && next.hotCount === 0) return isFitting;
    return isFitting && this.#isSmall(next) && (isMixed(open) || this.#isSmall(open));
  }

  #isSmall(part: Part): boolean {
    return part.hotCount + part.coldCount < this.#options.smallRows;
  }

  #close(): void {
    if (this.#open === null) return;
    const { range, hotCount } = this.#open;
    this.#steps.push({ range, hotCount, chunks: this.#toChunks(this.#open) });
    this.#open = null;
    this.#isFirst = false;
  }

  #toChunks(part: Part): Chunk[] {
    const chunks: Chunk[] = [];
    let rest = part;
    // Only one whole day, of a part that is not cold alone, may be larger than a chunk.
    while (!rest.isWhole && rest.runs.length === 1 && rest.coldCount > this.#roomFor(rest)) {
      const [head, tail] = split(rest, this.#roomFor(rest));
      chunks.push({ runs: head.runs, count: head.coldCount });
      rest = tail;
    }
    if (rest.coldCount > 0) chunks.push({ runs: rest.runs, count: rest.coldCount });
    return chunks;
  }

  /** Returns how many rows the next chunk takes of a run: to the end of a row group, so that none is read twice. */
  #roomFor(part: Part): number {
    const { firstRows, chunkRows, chunkBytes } = this.#options;
    const start = part.runs[0]?.firstRow ?? 0;
    const byBytes = Math.max(
      1,
      Math.floor((chunkBytes * part.coldCount) / Math.max(1, part.coldBytes)),
    );
    const most = Math.min(byBytes, this.#isFirst ? firstRows : chunkRows);
    const toGroupEnd = rowGroupRows - (start % rowGroupRows);
    return Math.min(most, toGroupEnd);
  }
}

function toPart(island: Island): Part {
  const { range, segment_id, first_row, row_count, count } = island;
  const runs =
    segment_id === null || first_row === null
      ? []
      : [{ segmentId: segment_id, firstRow: first_row, count: row_count }];
  return {
    range,
    hotCount: island.tier === 'hot' ? count : 0,
    runs,
    coldCount: row_count,
    coldBytes: island.bytes,
    isWhole: false,
  };
}

function join(left: Part, right: Part): Part {
  // The runs are appended in place, because a part may grow by thousands of them.
  left.runs.push(...right.runs);
  return {
    range: joinKeyRanges(left.range, right.range),
    hotCount: left.hotCount + right.hotCount,
    runs: left.runs,
    coldCount: left.coldCount + right.coldCount,
    coldBytes: left.coldBytes + right.coldBytes,
    isWhole: left.isWhole || right.isWhole,
  };
}

/** Cuts the only run of a part. Both halves keep the range, because nobody reads the range of cold parts. */
function split(part: Part, rows: number): [Part, Part] {
  const [run] = part.runs;
  if (run === undefined) throw new Error('there is no run to cut');
  const bytes = Math.round((part.coldBytes * rows) / part.coldCount);
  const head = { ...run, count: rows };
  const tail = { ...run, firstRow: run.firstRow + rows, count: run.count - rows };
  return [
    { ...part, runs: [head], coldCount: rows, coldBytes: bytes },
    { ...part, runs: [tail], coldCount: tail.count, coldBytes: part.coldBytes - bytes },
  ];
}

function isMixed(part: Part): boolean {
  return part.hotCount > 0 && part.coldCount > 0;
}

function isSameDay(left: KeyRange, right: KeyRange): boolean {
  return left.first.store === right.first.store && left.first.day === right.first.day;
}

/** Rows that stand together in a segment, from `firstRow` on, counted from 0. */
export type RowRun = {
  readonly segmentId: string;
  readonly firstRow: number;
  readonly count: number;
};

/** Cold rows that are read together. Once sorted they are in the order of the keys, whatever runs they come in. */
export type Chunk = { readonly runs: readonly RowRun[]; readonly count: number };

/** A stretch of a slice in key order. Without chunks it is all hot, with `hotCount` 0 all cold, else to be merged. */
export type Step = {
  readonly range: KeyRange;
  readonly hotCount: number;
  /** The chunks in the order of the keys. */
  readonly chunks: readonly Chunk[];
};
