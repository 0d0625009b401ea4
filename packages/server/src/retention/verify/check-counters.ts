import { batchesOf } from '../../kernel/batches.ts';
import { formatCount } from '../../kernel/values.ts';
import { cancelling, type Database, type Queryable } from '../../platform/postgres/database.ts';
import type { Rest } from '../../platform/work/pace.ts';
import type { CounterTable } from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import {
  type DanglingDays,
  findNextTenant,
  listDanglingDays,
  listDifferingTenants,
  listMonths,
  listSmallTenants,
  listWrongDays,
  listWrongSums,
  type Month,
  sampleDays,
  summedTables,
  type WrongCounter,
} from './counter-queries.ts';
import { counterAdvice, describeTriple } from './report.ts';

type Found = { problems: VerifyProblem[]; count: number };
type Check = {
  signal: AbortSignal;
  /** Is awaited after each stretch of days, so that clients go first. */
  rest: Rest;
  add: (problems: readonly VerifyProblem[], count: number) => void;
};

/** The most problems that are listed of one tenant. */
const listed = 1000;
/** The most hot records that are summed in one statement, as far as a single day allows. */
const hotAtOnce = 5_000_000;
/** Tenants with no more hot records and counters than this are compared several with one statement. */
const rowsOfSmall = 1000;
const tenantsAtOnce = 50;

/**
 * Checks counters as `checkCounters` does. Of small tenants, those of a batch of which nothing differs are found with one
 * statement. Returns the tenants of which nothing differs.
 */
export async function checkCountersOf(
  db: Database,
  tenants: AsyncIterable<string>,
  check: Check,
): Promise<string[]> {
  const { signal, rest } = check;
  const right: string[] = [];
  for await (const batch of batchesOf(tenants, tenantsAtOnce)) {
    const found = batch.length < 2 ? new Set() : await findRight(db, batch, signal);
    if (batch.length > 1) await rest(signal);
    for (const tenant of batch) {
      signal.throwIfAborted();
      if (found.has(tenant) || (await checkCounters(db, tenant, check))) right.push(tenant);
    }
  }
  return right;
}

/** Finds the small tenants of a batch of which nothing differs. */
async function findRight(
  db: Database,
  batch: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  return db.transaction((connection) =>
    cancelling(connection, signal, async () => {
      const small = await listSmallTenants(connection, batch, rowsOfSmall);
      if (small.length === 0) return new Set();
      const differing = new Set(await listDifferingTenants(connection, small));
      return new Set(small.filter((tenant) => !differing.has(tenant)));
    }),
  );
}

/**
 * Compares the counters of a tenant with its hot records and the catalogue, in one snapshot: a move, or records that
 * come in meanwhile, are then in all of them or in none. Returns whether nothing differs.
 */
export async function checkCounters(
  db: Database,
  tenant: string,
  { signal, rest, add }: Check,
): Promise<boolean> {
  const found = await db.transaction(
    (snapshot) =>
      cancelling(snapshot, signal, () => checkTenant(snapshot, tenant, { signal, rest })),
    { isolation: 'repeatable read' },
  );
  add(found.problems, found.count);
  return found.count === 0;
}

/**
 * The tenants after `after`, up to `last`, that have anything: one by one, so that memory never holds a list of all.
 */
export async function* eachTenant(
  db: Queryable,
  { after, last }: { after: string | null; last: string | null },
): AsyncGenerator<string> {
  for (
    let tenant = await findNextTenant(db, { after, last });
    tenant !== undefined;
    tenant = await findNextTenant(db, { after: tenant, last })
  ) {
    yield tenant;
  }
}

async function checkTenant(
  snapshot: Queryable,
  tenant: string,
  { signal, rest }: Pick<Check, 'signal' | 'rest'>,
): Promise<Found> {
  const found: Found = { problems: [], count: 0 };
  const take = (rows: readonly WrongCounter[], table: CounterTable) => {
    const room = listed - found.problems.length;
    found.problems.push(...rows.slice(0, room).map((row) => counterProblem(tenant, table, row)));
    found.count += rows[0]?.faults ?? 0;
  };
  for (const days of (await listMonths(snapshot, tenant)).flatMap(stretchesOf)) {
    signal.throwIfAborted();
    take(await listWrongDays(snapshot, tenant, days, listed), 'leaf_days');
    await rest(signal);
  }
  for (const table of summedTables) {
    signal.throwIfAborted();
    take(await listWrongSums(snapshot, tenant, table, listed), table);
  }
  const dangling = await listDanglingDays(snapshot, tenant, listed);
  found.problems.push(...dangling.map((row) => danglingProblem(tenant, row)));
  found.count += dangling.length;
  return found;
}

/** The stretches that a month is checked in: at once, or by day where its hot records take more than some seconds. */
export function stretchesOf({ month, hot_count }: Month): { first: string; last: string }[] {
  const first = firstDay(month);
  const last = lastDay(month);
  if (hot_count <= hotAtOnce) return [{ first, last }];
  return Array.from({ length: Number(last.slice(8)) }, (_, i) => {
    const day = `${month}-${String(i + 1).padStart(2, '0')}`;
    return { first: day, last: day };
  });
}

function counterProblem(tenant: string, table: CounterTable, row: WrongCounter): VerifyProblem {
  const { store, period } = row;
  const what = [tenant, store, period].filter((name) => name !== null).join(' › ');
  const counter = row.tier === 'all' ? table : `${table} (${row.tier})`;
  return {
    kind: 'counter_mismatch',
    tenant,
    object_key: null,
    store,
    first_day: period === null ? null : firstDay(period),
    last_day: period === null ? null : lastDay(period),
    message: `${what}: the counter ${counter} says ${describe(row, 'counted')}; ${sourceOf(table, row)} ${describe(row, 'found')}. ${counterAdvice}`,
  };
}

function describe(row: WrongCounter, side: 'counted' | 'found'): string {
  const triple = describeTriple({
    count: row[`${side}_count`],
    bytes: row[`${side}_bytes`],
    digest: row[`${side}_digest`],
  });
  return row.tier === 'cold'
    ? `${triple}, ${formatCount(row[`${side}_stored_bytes`])} bytes stored`
    : triple;
}

function sourceOf(table: CounterTable, { tier }: WrongCounter): string {
  if (table !== 'leaf_days') return 'its days add up to';
  return tier === 'hot' ? 'the hot records are' : 'its segments hold';
}

function firstDay(period: string): string {
  return period.length === 7 ? `${period}-01` : period;
}

function lastDay(period: string): string {
  if (period.length !== 7) return period;
  const [year = 0, month = 0] = period.split('-').map(Number);
  return new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10);
}

function danglingProblem(tenant: string, row: DanglingDays): VerifyProblem {
  return {
    kind: 'triple_mismatch',
    tenant,
    object_key: null,
    store: null,
    first_day: row.first_day,
    last_day: row.last_day,
    message: `The catalogue has days with ${formatCount(row.count)} records of the segment ${row.segment_id}, but not the segment. ${counterAdvice}`,
  };
}

/** What is looked at: a few tenants, and a few days of each, none of them with more hot records than this. */
const sample = { tenants: 5, days: 2, hotRecords: 200_000 };

/**
 * Compares the counters of some days of some tenants, which chance chooses, with their hot records and the catalogue.
 * Returns a sentence for each day that differs. It takes a second at most, and is no verification: that compares all.
 */
export async function findSampledDifferences(
  db: Database,
): Promise<{ tenant: string; text: string }[]> {
  const days = await sampleDays(db, sample);
  const found: { tenant: string; text: string }[] = [];
  for (const { tenant, day } of days) {
    // In one snapshot records that come in meanwhile are in both or in none.
    const wrong = await db.transaction(
      (snapshot) => listWrongDays(snapshot, tenant, { first: day, last: day }, 10),
      { isolation: 'repeatable read' },
    );
    const [first] = wrong;
    if (first === undefined) continue;
    found.push({
      tenant,
      text: `${tenant} › ${first.store ?? ''} › ${day}: the counter says ${first.counted_count} ${first.tier} records (${first.counted_bytes} bytes), and there are ${first.found_count} (${first.found_bytes} bytes)${wrong.length > 1 ? ', and so with other stores that day' : ''}`,
    });
  }
  return found;
}
