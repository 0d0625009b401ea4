import { rm } from 'node:fs/promises';
import { type DuckDb, literal } from '../../platform/parquet/duckdb.ts';
import type { DayTriple } from './segment.ts';
import { sumTriples } from './triple.ts';
import { writeSegmentFromSegments } from './write-segment.ts';

export type Merge = {
  /** Segments of one tenant, as local files. */
  readonly paths: readonly string[];
  /** All that they hold, by store and day, in key order. */
  readonly days: readonly DayTriple[];
  /** The file to write; files beside it, under its name and more, are made and removed. */
  readonly target: string;
  readonly signal?: AbortSignal | undefined;
};

/** Sorted at once: with 500 MB, 256 MiB of memory were not enough, though DuckDB spills. */
const partBytes = 32 * 1024 * 1024;

/**
 * Writes the records of several segments into one, in key order: sorts stretches of the key one after
 * another, then puts them together as they are.
 */
export async function mergeSegments(duckdb: DuckDb, merge: Merge): Promise<void> {
  const { paths, days, target, signal } = merge;
  const stretches = stretchesOf(days);
  const parts = stretches.map((_, index) => `${target}.${index}.parquet`);
  try {
    for (const [index, stretch] of stretches.entries()) {
      const part = { paths, target: parts[index] ?? '', filter: filterOf(stretch), signal };
      await writeSegmentFromSegments(duckdb, { ...part, ...sumTriples(stretch) });
    }
    const whole = { paths: parts, isInOrder: true, target, signal };
    await writeSegmentFromSegments(duckdb, { ...whole, ...sumTriples(days) });
  } finally {
    for (const part of parts) await rm(part, { force: true });
  }
}

function stretchesOf(days: readonly DayTriple[]): DayTriple[][] {
  const stretches: DayTriple[][] = [];
  let bytes = 0;
  for (const day of days) {
    const open = stretches.at(-1);
    bytes += day.bytes;
    if (open !== undefined && bytes <= partBytes) {
      open.push(day);
    } else {
      stretches.push([day]);
      bytes = day.bytes;
    }
  }
  return stretches;
}

/** The stores alone let DuckDB pass over row groups; days cut the first and the last of them. */
function filterOf(stretch: readonly DayTriple[]): string {
  const [first, last] = [stretch[0], stretch.at(-1)];
  if (first === undefined || last === undefined) return 'false';
  const [from, to] = [literal(first.store), literal(last.store)];
  return `store between ${from} and ${to}
    and (store > ${from} or occurred_at >= ${instant(first.day, 0)})
    and (store < ${to} or occurred_at < ${instant(last.day, 1)})`;
}

function instant(day: string, plusDays: number): string {
  return `make_timestamptz(${(Date.parse(day) + plusDays * 86_400_000) * 1000})`;
}
