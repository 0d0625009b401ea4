import { formatMicros } from '../../kernel/instant.ts';
import { LineReader } from '../ingest/batch-reader.ts';

/** The rows that fall into a leaf, and on which days of its month. */
export type LeafRows = {
  readonly tenant: string;
  readonly store: string;
  readonly month: string;
  readonly rows: number;
  /** The days of the month on which they fall, from 1, in their order. */
  readonly days: readonly number[];
};

/** So many leaves are told apart. Rows of further ones are passed over. */
const mostLeaves = 10_000;

/** Notes the leaves and days that records fall into. */
export function createDayTally(nowMillis: number): {
  /** Adds whole lines of NDJSON. Those that are no records are passed over. */
  add(lines: Buffer): void;
  /** Adds rows of one day. */
  addDay(day: { tenant: string; store: string; day: string; count: number }): void;
  leaves(): LeafRows[];
} {
  const limits = { nowMicros: nowMillis * 1000, maxEnrichmentBytes: Number.MAX_SAFE_INTEGER };
  const reader = new LineReader(limits);
  const leaves = new Map<
    string,
    Omit<LeafRows, 'days' | 'rows'> & { rows: number; bits: number }
  >();
  const note = (tenant: string, store: string, day: string, rows: number) => {
    const month = day.slice(0, 7);
    const key = `${tenant}/${store}/${month}`;
    const known = leaves.get(key);
    const leaf = known ?? { tenant, store, month, rows: 0, bits: 0 };
    leaf.rows += rows;
    leaf.bits |= 1 << (Number(day.slice(8, 10)) - 1);
    if (known === undefined && leaves.size < mostLeaves) leaves.set(key, leaf);
  };
  return {
    add(lines) {
      for (const line of lines.toString().split('\n')) {
        const { record } = reader.read(line);
        if (record === null) continue;
        const { tenant, store, occurredAtMicros } = record;
        note(tenant, store, formatMicros(occurredAtMicros), 1);
      }
    },
    addDay: ({ tenant, store, day, count }) => note(tenant, store, day, count),
    leaves: () =>
      Array.from(leaves.values(), ({ bits, ...leaf }) => ({
        ...leaf,
        days: Array.from({ length: 31 }, (_, index) => index + 1).filter(
          (day) => ((bits >>> (day - 1)) & 1) === 1,
        ),
      })),
  };
}
