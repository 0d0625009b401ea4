import type { LRUCache } from 'lru-cache';
import type { TokenCheck } from '../../kernel/actor.ts';
import type { Clock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Gate } from '../../kernel/gate.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import { isPartitionMissing, mayTryAgain, sqlState } from '../../platform/postgres/errors.ts';
import { countStored } from '../import-jobs/import-jobs.ts';
import type { ColdReader } from '../segments/segment.ts';
import { addFindings, checkLate, type LateCheck, nothingChecked } from './late-check.ts';
import { Part, type PartOutcome } from './part.ts';
import {
  attachPartitions,
  changedMeanwhile,
  copyNew,
  fewRows,
  listPartitions,
  lockPartitions,
  type RowsToStore,
  type Stored,
  storeNew,
  storeOne,
} from './queries.ts';

type StoreOptions = {
  cold: ColdReader;
  partitions: Partitions;
  busy: BusyTenants;
  /**
   * The tokens of senders whose last large part repeated records. To copy the next one would most likely fail, and be done
   * in vain; once a part of theirs held only new records, the next is copied again.
   */
  repeaters: LRUCache<string, true>;
  /** Limits the transactions at the same time. Checks against cold data wait outside of it, and block none. */
  transactions: Gate;
  lateChecks: Gate;
};

/** A part, the token with which it was sent, what is checked of that as it is stored, and the import that counts it. */
export type SentPart = {
  readonly part: Part;
  readonly tokenId: string;
  readonly check?: TokenCheck | undefined;
  readonly importId?: string | undefined;
};

/** If a part meets changes of its days or records this often in a row, something is wrong. */
const maxAttempts = 5;
/** So long a part waits for a lock: alone, before it lets others go first; with others, before they part. */
const lockMillis = { alone: 1000, together: 200 };
const mostLockWaits = 50;

/**
 * Stores a part in one transaction, durable when this returns; if nobody knows whether it was, send it again. Records
 * of cold days are looked up in segments first, and those found left out. Throws 500 `segment_damaged`, 503
 * `cold_tier_unavailable`, and then nothing is stored.
 */
export async function storePart(
  db: Database,
  { part, tokenId, check, importId }: SentPart,
  { cold, partitions, busy, repeaters, transactions, lateChecks }: StoreOptions,
): Promise<PartOutcome> {
  let checked = nothingChecked;
  let hasRepeats = part.count <= fewRows;
  let lockWaits = 0;
  let onlyRow = part.count === 1 && importId === undefined ? part.rows[0] : undefined;
  const store = (isNew: boolean) =>
    transactions.run(async () => {
      await partitions.ensure(part.months());
      const row = onlyRow;
      onlyRow = undefined;
      const { alone } = lockMillis;
      if (row !== undefined && (await storeOne(db, row, alone, check))) return allStored;
      const rows = { ...rowsToStore(part, checked), lockMillis: alone, checks: [check] };
      if (!isNew && importId === undefined) return storeNew(db, rows);
      // Between two attempts the place is free for others.
      const once = { isTriedOnce: true };
      return db.transaction(async (connection) => {
        const stored = await (isNew ? copyAll(connection, rows) : storeNew(connection, rows));
        if (importId !== undefined && stored.cold_days === null) {
          const known = (stored.duplicates?.length ?? 0) + (stored.conflicts?.length ?? 0);
          await countStored(connection, importId, rows.ordinals.length - known);
        }
        return stored;
      }, once);
    });
  for (let attempt = 1; attempt <= maxAttempts; ) {
    const isHopedNew = !hasRepeats && !repeaters.has(tokenId);
    try {
      const stored = await store(isHopedNew);
      const { duplicates, conflicts, cold_days: days } = stored;
      if (part.count > fewRows && days === null && duplicates === null && conflicts === null) {
        repeaters.delete(tokenId);
      }
      if (days === null) return outcomeOf(stored, checked);
      const findings = await lateChecks.run(() => checkLate(db, cold, { part, days }));
      checked = addFindings(checked, findings);
      attempt += 1;
    } catch (error) {
      const state = sqlState(error);
      if (isPartitionMissing(error) && attempt < maxAttempts) {
        partitions.forget(part.months());
        attempt += 1;
      } else if (isHopedNew && copyRefusals.has(state ?? '')) {
        repeaters.set(tokenId, true);
        hasRepeats = true;
      } else if (state === lockNotAvailable && lockWaits < mostLockWaits) {
        lockWaits += 1;
        busy.note(part.tenants());
      } else {
        // A part of the same microsecond as another's is stored at another time.
        const isPassing = state === changedMeanwhile || state === uniqueViolation;
        if (!isPassing && !mayTryAgain(error, attempt)) throw error;
        attempt += 1;
      }
    }
  }
  throw new AppError('cold_tier_unavailable', {
    detail:
      'The records of these days, or where they lie, keep changing. Send them again in a few seconds.',
    retryAfterSeconds: 5,
  });
}

async function copyAll(
  connection: Connection,
  rows: RowsToStore & { lockMillis: number },
): Promise<Stored> {
  const days = await copyNew(connection, rows);
  return { ...allStored, cold_days: days.length === 0 ? null : days };
}

const uniqueViolation = '23505';
const allStored: Stored = { duplicates: null, conflicts: null, cold_days: null };
/** A record is stored already: a unique violation, or what a cluster makes of it when it copies to a worker. */
const copyRefusals: ReadonlySet<string> = new Set([uniqueViolation, 'XX000']);
const lockNotAvailable = '55P03';

/** Stores small parts together. Returns null for one with records of cold days, to be stored alone. */
export async function storeTogether(
  db: Database,
  sent: readonly SentPart[],
  { transactions }: Pick<StoreOptions, 'transactions'>,
): Promise<(PartOutcome | null)[]> {
  const parts = sent.map(({ part }) => part);
  const checks = sent.map(({ check }) => check);
  const joined = Part.join(parts);
  const rows = rowsToStore(joined, nothingChecked);
  const stored = await transactions.run(() =>
    storeNew(db, { ...rows, lockMillis: lockMillis.together, checks }),
  );
  const { cold_days: days } = stored;
  if (days === null) return splitOutcome(parts, outcomeOf(stored, nothingChecked));
  const others = sent.filter(({ part }) => !part.touches(days));
  const outcomes = others.length === 0 ? [] : await storeTogether(db, others, { transactions });
  return sent.map((one) => outcomes[others.indexOf(one)] ?? null);
}

/** Whether a part may be stored together with those of other callers, without keeping them waiting. */
export function maySharePart(part: Part, { busy, partitions }: StoreOptions): boolean {
  const isSmall = part.count <= fewRows && part.sizeBytes <= mostSharedBytes;
  return (
    isSmall && partitions.areKnown(part.months()) && !part.tenants().some((one) => busy.has(one))
  );
}

const mostSharedBytes = 256 * 1024;

/** Tenants for whose locks somebody has waited long just now, as while their days are moved. */
type BusyTenants = { note(tenants: readonly string[]): void; has(tenant: string): boolean };

const busyMillis = 5000;

export function createBusyTenants(clock: Clock): BusyTenants {
  const until = new Map<string, number>();
  return {
    note(tenants) {
      const now = clock();
      for (const [tenant, end] of until) if (end <= now) until.delete(tenant);
      for (const tenant of tenants) until.set(tenant, now + busyMillis);
    },
    has: (tenant) => (until.get(tenant) ?? 0) > clock(),
  };
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
  const inOrder = part.inStoreOrder();
  const ordinals = found.size === 0 ? inOrder : inOrder.filter((ordinal) => !found.has(ordinal));
  return { part, ordinals, checked: [...days.values()] };
}

/** Joins what was found hot with what was found in cold data. */
function outcomeOf(taken: Stored, { found, conflicts }: LateCheck): PartOutcome {
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
  /** Whether `ensure` has nothing to do. */
  areKnown(months: Iterable<string>): boolean;
  /** Makes `ensure` look again whether they are there. */
  forget(months: Iterable<string>): void;
};

export function createPartitions(db: Database): Partitions {
  /** Partitions are never dropped while months are written to, so one that was seen once still exists. */
  const known = new Set<string>();
  const missingOf = (months: Iterable<string>) =>
    [...new Set(months)].filter((month) => !known.has(month));
  return {
    areKnown: (months) => missingOf(months).length === 0,
    forget(months) {
      for (const month of months) known.delete(month);
    },
    async ensure(months) {
      if (missingOf(months).length === 0) return;
      for (const name of await listPartitions(db)) known.add(monthOf(name));
      const unmade = missingOf(months).sort();
      for (let at = 0; at < unmade.length; at += monthsAtOnce) {
        const some = unmade.slice(at, at + monthsAtOnce);
        await make(db, some);
        for (const month of some) known.add(month);
      }
    },
  };
}

/** So many months are made in one transaction. It takes some 50 ms, for which others wait who make months, too. */
const monthsAtOnce = 24;

async function make(db: Database, months: readonly string[]): Promise<void> {
  await db.transaction(async (connection) => {
    await lockPartitions(connection);
    const made = new Set(await listPartitions(connection));
    const partitions = months
      .map((month) => ({ name: partitionName(month), ...boundsOf(month) }))
      .filter(({ name }) => !made.has(name));
    if (partitions.length > 0) await attachPartitions(connection, partitions);
  });
}

function boundsOf(month: string): { from: string; until: string } {
  const next = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1));
  return { from: `${month}-01T00:00:00Z`, until: `${next.toISOString().slice(0, 7)}-01T00:00:00Z` };
}

/** The table of the records of a month. */
export function partitionName(month: string): string {
  return `enrichment_records_${month.replace('-', '_')}`;
}

function monthOf(name: string): string {
  return name.slice(-'YYYY-MM'.length).replace('_', '-');
}
