import { rm } from 'node:fs/promises';
import { type DuckDb, literal } from '../../platform/duckdb.ts';
import { type DayTriple, sumTriples } from './segment.ts';
import { readSegments } from './segment-sql.ts';
import { writeSegmentFromSegments } from './write-segment.ts';

export type Merge = {
  /** Segments of one tenant, as local files. */
  readonly paths: readonly string[];
  /** All records in them, by store and day, in the order of the keys. */
  readonly days: readonly DayTriple[];
  /** The file to write. Files whose names begin with this one's are made beside it and removed. */
  readonly target: string;
  readonly signal?: AbortSignal | undefined;
};

/** This much is sorted at a time: for 135 MB, 128 MiB of memory were not enough, though DuckDB can spill to disk. */
const partBytes = 32 * 1024 * 1024;

/** Merges segments in key order: sorts stretch by stretch, and joins the sorted files as they are. */
export async function mergeSegments(duckdb: DuckDb, merge: Merge): Promise<void> {
  const { paths, days, target, signal } = merge;
  const stretches = await stretchesOf(duckdb, merge);
  if (stretches.length === 1) {
    await writeSegmentFromSegments(duckdb, { paths, target, signal, ...sumTriples(days) });
    return;
  }
  const parts = stretches.map((_, index) => `${target}.${index}.parquet`);
  try {
    for (const [index, { count, bytes, ...stretch }] of stretches.entries()) {
      const part = { paths, target: parts[index] ?? '', filter: filterOf(stretch), signal };
      await writeSegmentFromSegments(duckdb, { ...part, count, bytes });
    }
    const whole = { paths: parts, isInOrder: true, target, signal };
    await writeSegmentFromSegments(duckdb, { ...whole, ...sumTriples(days) });
  } finally {
    for (const part of parts) await rm(part, { force: true });
  }
}

/** A store and a time in microseconds since 1970. */
type Point = { readonly store: string; readonly micros: number };

/** From one point up to another, which is not part of it. The number and the bytes may be estimates. */
type Stretch = { from: Point; until: Point; count: number; bytes: number };

async function stretchesOf(duckdb: DuckDb, { paths, days, signal }: Merge): Promise<Stretch[]> {
  const stretches: Stretch[] = [];
  for (const day of days) {
    if (day.bytes > partBytes) {
      stretches.push(...(await cutDay(duckdb, day, { paths, signal })));
      continue;
    }
    const open = stretches.at(-1);
    const next = wholeDay(day);
    if (open === undefined || open.bytes + day.bytes > partBytes) stretches.push(next);
    else {
      open.until = next.until;
      open.count += day.count;
      open.bytes += day.bytes;
    }
  }
  return stretches;
}

function wholeDay({ store, day, count, bytes }: DayTriple): Stretch {
  const micros = Date.parse(day) * 1000;
  return {
    from: { store, micros },
    until: { store, micros: micros + 86_400_000_000 },
    count,
    bytes,
  };
}

/** Cuts a day by the times of its records into stretches that hold about the same number of them. */
async function cutDay(
  duckdb: DuckDb,
  day: DayTriple,
  { paths, signal }: Pick<Merge, 'paths' | 'signal'>,
): Promise<Stretch[]> {
  const { from, until, count, bytes } = wholeDay(day);
  const pieces = Math.ceil(bytes / partBytes);
  const shares = Array.from({ length: pieces - 1 }, (_, index) => (index + 1) / pieces);
  const rows = await duckdb.run<{ micros: string }>(
    `select unnest(approx_quantile(epoch_us(occurred_at), [${shares.join(', ')}]))::bigint as micros
      from ${readSegments(paths)} where ${filterOf({ from, until })}`,
    { signal },
  );
  const cuts = [...new Set(rows.map(({ micros }) => Number(micros)))]
    .filter((micros) => micros > from.micros && micros < until.micros)
    .sort((a, b) => a - b);
  const points = [...cuts.map((micros) => ({ ...from, micros })), until];
  const share = { count: Math.ceil(count / pieces), bytes: Math.ceil(bytes / pieces) };
  return points.map((point, index) => ({
    ...share,
    from: points[index - 1] ?? from,
    until: point,
  }));
}

/** The condition on the stores alone lets DuckDB skip row groups. The times cut the first store and the last one. */
function filterOf({ from, until }: Pick<Stretch, 'from' | 'until'>): string {
  const [first, last] = [literal(from.store), literal(until.store)];
  return `store between ${first} and ${last}
    and (store > ${first} or occurred_at >= make_timestamptz(${from.micros}))
    and (store < ${last} or occurred_at < make_timestamptz(${until.micros}))`;
}
