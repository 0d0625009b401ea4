import { sumDigests } from '../../kernel/digest.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Gate } from '../../kernel/gate.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import type { ColdReader } from '../segments/segment.ts';
import { lockPins } from '../versions/pin-queries.ts';
import {
  addFindings,
  checkLate,
  hasChecked,
  type LateCheck,
  nothingChecked,
} from './late-check.ts';
import type { Part } from './part.ts';
import * as queries from './queries.ts';
import {
  attachPartition,
  type CounterDelta,
  type Delta,
  listPartitions,
  lockPartitions,
} from './queries.ts';

export type PartOutcome = {
  accepted: number;
  duplicates: number;
  /** The positions in the request of records that are stored with other content. */
  conflicts: number[];
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
  { cold, partitions, transactions, lateChecks }: StoreOptions,
): Promise<PartOutcome> {
  let checked = nothingChecked;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const result = await transactions.run(async () => {
      await partitions.ensure(part.months);
      return tryStore(db, part, checked);
    });
    if ('accepted' in result) return result;
    const { days, staged } = result;
    const findings = await lateChecks.run(() => checkLate(db, cold, { days, staged }));
    checked = addFindings(checked, findings);
  }
  throw new AppError('cold_tier_unavailable', {
    detail:
      'Cold data of the days of these records keeps changing. Send them again in a few seconds.',
    retryAfterSeconds: 5,
  });
}

/** The part touches days with cold records against which it has not been checked, or it met a move. */
type Unchecked = { days: queries.ColdDay[]; staged: queries.StagedRecord[] };

async function tryStore(
  db: Database,
  part: Part,
  checked: LateCheck,
): Promise<PartOutcome | Unchecked> {
  return db.transaction(async (connection) => {
    if (!(await queries.hasStage(connection))) await queries.createStage(connection);
    await queries.fillStage(connection, part.copyText());
    if (checked.found.size > 0) await queries.removeFromStage(connection, [...checked.found]);
    // The lock is taken before the savepoint, because undoing the insert must not free it.
    await lockPins(connection, [...part.tenants]);
    const added = await queries.insertNew(connection);
    const accepted = added.reduce((sum, day) => sum + day.count, 0);
    const isAllNew = accepted === part.count - checked.found.size;
    const hotConflicts = isAllNew ? [] : await queries.listConflicts(connection);
    if (hotConflicts.some((conflict) => conflict.is_gone)) {
      // The record was moved or erased after the insert had met it. Which of the two is found out when the part is
      // stored again.
      await queries.undoInsert(connection);
      return { days: [], staged: [] };
    }
    if (accepted > 0) {
      // From here on the days are locked, so no move can switch them before the commit.
      const coldDays = await queries.addToDays(connection, added);
      const days = coldDays.filter((day) => !hasChecked(checked, day));
      if (days.length > 0) {
        await queries.undoInsert(connection);
        return { days, staged: await queries.listStagedOfDays(connection, days) };
      }
      await countAbove(connection, added);
    }
    const conflicts = [...hotConflicts.map(({ ordinal }) => ordinal), ...checked.conflicts];
    return {
      accepted,
      duplicates: part.count - accepted - conflicts.length,
      conflicts: conflicts.map((ordinal) => part.indexes[ordinal] ?? -1),
    };
  });
}

/** The counters above the days come last: all writers share their rows, and they are locked until the commit. */
async function countAbove(connection: Connection, days: queries.Delta[]): Promise<void> {
  const { months, stores, tenantDays, tenants } = rollUp(days);
  await queries.addToCounters(connection, 'leaf_months', months);
  await queries.addToCounters(connection, 'leaf_stores', stores);
  await queries.addToCounters(connection, 'tenant_days', tenantDays);
  await queries.addToCounters(connection, 'leaf_tenants', tenants);
}

/** Sums what was added to days up to months, stores, the days of tenants, and tenants. */
function rollUp(days: readonly Delta[]): {
  months: CounterDelta[];
  stores: CounterDelta[];
  tenantDays: CounterDelta[];
  tenants: CounterDelta[];
} {
  const months = new Map<string, CounterDelta>();
  const stores = new Map<string, CounterDelta>();
  const tenantDays = new Map<string, CounterDelta>();
  const tenants = new Map<string, CounterDelta>();
  for (const { day, ...rest } of days) {
    const month = day.slice(0, 7);
    // The keys are unique, because names hold no "/".
    add(months, `${rest.tenant}/${rest.store}/${month}`, { ...rest, month });
    add(stores, `${rest.tenant}/${rest.store}`, rest);
    add(tenantDays, `${rest.tenant}/${day}`, { ...rest, day });
    add(tenants, rest.tenant, rest);
  }
  return {
    months: [...months.values()],
    stores: [...stores.values()],
    tenantDays: [...tenantDays.values()],
    tenants: [...tenants.values()],
  };
}

function add(sums: Map<string, CounterDelta>, key: string, delta: CounterDelta): void {
  const sum = sums.get(key);
  if (sum === undefined) {
    sums.set(key, { ...delta });
    return;
  }
  sum.count += delta.count;
  sum.bytes += delta.bytes;
  sum.digest = sumDigests([BigInt(sum.digest), BigInt(delta.digest)]).toString();
  if (delta.first_at < sum.first_at) sum.first_at = delta.first_at;
  if (delta.last_at > sum.last_at) sum.last_at = delta.last_at;
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
