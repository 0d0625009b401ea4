import { rowGroupRows } from '../segments/segment-sql.ts';
import type { KeyRange } from '../slice/slice.ts';
import type { Island } from './queries.ts';

export type CutOptions = {
  /** Rows of the first chunk, so that the first byte comes soon. */
  firstRows: number;
  /** Rows of a chunk, at most; a store-day that lies in several segments may have more. */
  chunkRows: number;
  /** Bytes of a chunk as NDJSON, at most, as long as the rows of a run are of a size. */
  chunkBytes: number;
  /** Neighbours of different tiers with fewer rows than this are merged row by row, not read apart. */
  smallRows: number;
};

export const usualCut: CutOptions = {
  firstRows: 4_096,
  chunkRows: rowGroupRows,
  chunkBytes: 32 * 1024 * 1024,
  smallRows: 5_000,
};

/** Runs of a chunk, at most: each is a range in its statement. */
const chunkRuns = 1_000;

/** A stretch of the slice. */
type Part = {
  range: KeyRange;
  hotCount: number;
  runs: RowRun[];
  coldCount: number;
  coldBytes: number;
  /** Its rows overlap with each other: it is not to be cut. */
  isWhole: boolean;
};

/** Cuts a slice into steps, from its islands in key order. */
export class StepCutter {
  readonly #options: CutOptions;
  /** A store-day with several islands, until the next one shows that it is complete. */
  #day: { part: Part; count: number } | null = null;
  /** Parts that may become one step with those that follow. */
  #open: Part | null = null;
  #isFirst = true;
  #steps: Step[] = [];

  constructor(options: CutOptions) {
    this.#options = options;
  }

  /** The steps that are complete with this island. */
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

  /** The steps that are left. */
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
    // Only the one day of a part that is not cold alone may be larger than a chunk.
    while (!rest.isWhole && rest.runs.length === 1 && rest.coldCount > this.#roomFor(rest)) {
      const [head, tail] = split(rest, this.#roomFor(rest));
      chunks.push({ runs: head.runs, count: head.coldCount });
      rest = tail;
    }
    if (rest.coldCount > 0) chunks.push({ runs: rest.runs, count: rest.coldCount });
    return chunks;
  }

  /** How many rows the next chunk takes of a run: it ends where a row group ends. */
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
  const { segment_id, first_row, row_count, count } = island;
  const runs =
    segment_id === null || first_row === null
      ? []
      : [{ segmentId: segment_id, firstRow: first_row, count: row_count }];
  return {
    range: {
      first: { store: island.first_store, day: island.first_day },
      last: { store: island.last_store, day: island.last_day },
      minDay: island.min_day,
      maxDay: island.max_day,
    },
    hotCount: island.tier === 'hot' ? count : 0,
    runs,
    coldCount: row_count,
    coldBytes: island.bytes,
    isWhole: false,
  };
}

function join(left: Part, right: Part): Part {
  // In place: a part may grow by thousands of runs.
  left.runs.push(...right.runs);
  return {
    range: {
      first: left.range.first,
      last: right.range.last,
      minDay: left.range.minDay < right.range.minDay ? left.range.minDay : right.range.minDay,
      maxDay: left.range.maxDay > right.range.maxDay ? left.range.maxDay : right.range.maxDay,
    },
    hotCount: left.hotCount + right.hotCount,
    runs: left.runs,
    coldCount: left.coldCount + right.coldCount,
    coldBytes: left.coldBytes + right.coldBytes,
    isWhole: left.isWhole || right.isWhole,
  };
}

/** Cuts the one run of a part after so many rows. Both keep the range: of cold parts nobody reads it. */
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

/** Cold rows that are read at once: in key order once they are sorted, whatever runs they come in. */
export type Chunk = { readonly runs: readonly RowRun[]; readonly count: number };

/**
 * A stretch of a slice in key order. Without chunks all its records are hot, with `hotCount` 0 all are
 * cold; else both are to be merged.
 */
export type Step = {
  readonly range: KeyRange;
  readonly hotCount: number;
  /** In key order. */
  readonly chunks: readonly Chunk[];
};
