import { AppError } from '../../kernel/errors.ts';
import type { Gate } from '../../kernel/gate.ts';
import { type Database, mayTryAgain, sqlState } from '../../platform/postgres/database.ts';
import type { ColdReader } from '../segments/segment.ts';
import { addFindings, checkLate, type LateCheck, nothingChecked } from './late-check.ts';
import type { Novelty } from './novelty.ts';
import { Part } from './part.ts';
import {
  attachPartition,
  coldDaysOf,
  copyNew,
  fewRows,
  listPartitions,
  lockPartitions,
  type RowsToStore,
  refusals,
  storeNew,
  type Taken,
} from './queries.ts';

/** What became of the rows of a part. All others are stored now. */
export type PartOutcome = {
  /** The ordinals of rows that were stored before. */
  readonly duplicates: readonly number[];
  /** The ordinals of rows whose identity is stored with other content. */
  readonly conflicts: readonly number[];
};

type StoreOptions = {
  cold: ColdReader;
  partitions: Partitions;
  /**
   * Limits the transactions that run at the same time. Checks against cold data wait outside of it, so that they block
   * none.
   */
  transactions: Gate;
  lateChecks: Gate;
};

/** If a part meets moves of its days this often in a row, something is wrong. */
const maxAttempts = 5;
/** A part that is stored alone waits this long for a lock, and parts that are stored together no longer than that. */
const lockMillis = { alone: 10_000, together: 200 };

/**
 * Stores a part: records and counters in one transaction, which is durable when this returns. It may be repeated: a
 * part for which nobody knows whether it was committed, because the connection broke, is simply sent again. When the
 * part has records for days that are cold, nothing is stored at first. These records are looked up in the segments, and
 * then the part is stored without those that are there already. Throws 500 `segment_damaged` or 503
 * `cold_tier_unavailable`, and then nothing of the part is stored.
 */
export async function storePart(
  db: Database,
  part: Part,
  novelty: Novelty,
  { cold, partitions, transactions, lateChecks }: StoreOptions,
): Promise<PartOutcome> {
  let checked = nothingChecked;
  const store = (isNew: boolean) =>
    transactions.run(async () => {
      await partitions.ensure(part.months());
      const rows = rowsToStore(part, checked);
      if (!isNew) return storeNew(db, { ...rows, lockMillis: lockMillis.alone });
      await db.transaction((connection) => copyNew(connection, rows));
      return { duplicates: null, conflicts: null };
    });
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const isHopedNew = part.count > fewRows && novelty.isLikely();
    try {
      const taken = await store(isHopedNew);
      if (isHopedNew) novelty.note(true);
      return outcomeOf(taken, checked);
    } catch (error) {
      const state = sqlState(error);
      if (isHopedNew && state === uniqueViolation) {
        novelty.note(false);
        attempt -= 1;
      } else if (state === refusals.coldDays) {
        const days = coldDaysOf(error);
        const findings = await lateChecks.run(() => checkLate(db, cold, { part, days }));
        checked = addFindings(checked, findings);
      } else if (state !== refusals.moved && !mayTryAgain(error, attempt)) throw error;
    }
  }
  throw new AppError('cold_tier_unavailable', {
    detail:
      'Cold data of the days of these records keeps changing. Send them again in a few seconds.',
    retryAfterSeconds: 5,
  });
}

const uniqueViolation = '23505';

/**
 * Stores small parts of several callers in one transaction. Returns the outcome of each, or null for one of which
 * nothing is stored, because it has records for cold days; it can be stored alone. Throws when nothing is stored.
 */
export async function storeTogether(
  db: Database,
  parts: readonly Part[],
  { partitions, transactions }: Pick<StoreOptions, 'partitions' | 'transactions'>,
): Promise<(PartOutcome | null)[]> {
  const joined = Part.join(parts);
  try {
    const taken = await transactions.run(async () => {
      await partitions.ensure(joined.months());
      const rows = rowsToStore(joined, nothingChecked);
      return storeNew(db, { ...rows, lockMillis: lockMillis.together });
    });
    return splitOutcome(parts, outcomeOf(taken, nothingChecked));
  } catch (error) {
    if (sqlState(error) !== refusals.coldDays) throw error;
    const days = coldDaysOf(error);
    const others = parts.filter((part) => !part.touches(days));
    const isProgress = others.length > 0 && others.length < parts.length;
    const outcomes = isProgress
      ? await storeTogether(db, others, { partitions, transactions })
      : [];
    return parts.map((part) => outcomes[others.indexOf(part)] ?? null);
  }
}

/** Gives each of the parts that were joined what became of its rows. */
function splitOutcome(
  parts: readonly Part[],
  { duplicates, conflicts }: PartOutcome,
): PartOutcome[] {
  let start = 0;
  return parts.map(({ count }) => {
    const first = start;
    start += count;
    const own = (ordinals: readonly number[]) =>
      ordinals.flatMap((ordinal) =>
        ordinal >= first && ordinal < first + count ? [ordinal - first] : [],
      );
    return { duplicates: own(duplicates), conflicts: own(conflicts) };
  });
}

function rowsToStore(part: Part, { found, days }: LateCheck): RowsToStore {
  const inOrder = part.inKeyOrder();
  const ordinals = found.size === 0 ? inOrder : inOrder.filter((ordinal) => !found.has(ordinal));
  return { part, ordinals, checked: [...days.values()] };
}

/** Joins what was found hot with what was found in cold data. */
function outcomeOf(taken: Taken, { found, conflicts }: LateCheck): PartOutcome {
  const coldDuplicates = [...found].filter((ordinal) => !conflicts.has(ordinal));
  return {
    duplicates: [...(taken.duplicates ?? []), ...coldDuplicates],
    conflicts: [...(taken.conflicts ?? []), ...conflicts],
  };
}

/** Makes sure that the months of a part have their partitions. */
type Partitions = {
  /** `months` are given as `YYYY-MM`. */
  ensure(months: Iterable<string>): Promise<void>;
};

export function createPartitions(db: Database): Partitions {
  /** Partitions are never dropped while months are written to, so one that was seen once still exists. */
  const known = new Set<string>();
  return {
    async ensure(months) {
      const missing = [...months].filter((month) => !known.has(partitionName(month)));
      if (missing.length === 0) return;
      for (const name of await listPartitions(db)) known.add(name);
      for (const month of missing.sort()) {
        if (!known.has(partitionName(month))) await make(db, month);
        known.add(partitionName(month));
      }
    },
  };
}

/** Makes each month in a transaction of its own, so that no lock is held longer than the 3 ms that this takes. */
async function make(db: Database, month: string): Promise<void> {
  const name = partitionName(month);
  await db.transaction(async (connection) => {
    await lockPartitions(connection);
    if ((await listPartitions(connection)).includes(name)) return;
    const next = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1));
    const until = next.toISOString().slice(0, 7);
    await attachPartition(connection, name, `${month}-01T00:00:00Z`, `${until}-01T00:00:00Z`);
  });
}

function partitionName(month: string): string {
  return `enrichment_records_${month.replace('-', '_')}`;
}
