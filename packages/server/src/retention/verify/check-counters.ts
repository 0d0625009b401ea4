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
  listMonths,
  listSmallTenants,
  listWrongDays,
  listWrongSums,
  type Month,
  type Stretch,
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

/** Checks counters as `checkCounters` does, the small tenants of a batch together. */
export async function checkCountersOf(
  db: Database,
  tenants: AsyncIterable<string>,
  check: Check,
): Promise<string[]> {
  const right: string[] = [];
  for await (const batch of batchesOf(tenants, tenantsAtOnce)) {
    const small = batch.length < 2 ? [] : await listSmallTenants(db, batch, rowsOfSmall);
    const large = batch.filter((tenant) => !small.includes(tenant)).map((tenant) => [tenant]);
    for (const group of small.length === 0 ? large : [small, ...large]) {
      check.signal.throwIfAborted();
      right.push(...(await checkCounters(db, group, check)));
    }
  }
  return right;
}

/**
 * Compares the counters of some small tenants, or of one tenant month by month, with their hot records and the catalogue,
 * in one snapshot: a move, or records that come in meanwhile, are then in all of them or in none. Returns the tenants of
 * which nothing differs: none, where more differs than is listed.
 */
export async function checkCounters(
  db: Database,
  tenants: readonly string[],
  { signal, rest, add }: Check,
): Promise<readonly string[]> {
  const { problems, count } = await db.transaction(
    (snapshot) =>
      cancelling(snapshot, signal, () => checkGroup(snapshot, tenants, { signal, rest })),
    { isolation: 'repeatable read' },
  );
  add(problems, count);
  if (count > problems.length) return [];
  const wrong = new Set(problems.map(({ tenant }) => tenant));
  return tenants.filter((tenant) => !wrong.has(tenant));
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

async function checkGroup(
  snapshot: Queryable,
  tenants: readonly string[],
  { signal, rest }: Pick<Check, 'signal' | 'rest'>,
): Promise<Found> {
  const found: Found = { problems: [], count: 0 };
  const take = <Row extends { faults: number }>(
    rows: readonly Row[],
    toProblem: (row: Row) => VerifyProblem,
  ) => {
    const room = listed - found.problems.length;
    found.problems.push(...rows.slice(0, room).map(toProblem));
    found.count += rows[0]?.faults ?? 0;
  };
  for (const days of await stretchesOfGroup(snapshot, tenants)) {
    signal.throwIfAborted();
    const wrong = await listWrongDays(snapshot, tenants, days, listed);
    take(wrong, (row) => counterProblem('leaf_days', row));
    await rest(signal);
  }
  for (const table of summedTables) {
    signal.throwIfAborted();
    const wrong = await listWrongSums(snapshot, tenants, table, listed);
    take(wrong, (row) => counterProblem(table, row));
  }
  take(await listDanglingDays(snapshot, tenants, listed), danglingProblem);
  return found;
}

/** One tenant may be large, and is compared by its months; several at once. */
async function stretchesOfGroup(
  snapshot: Queryable,
  tenants: readonly string[],
): Promise<readonly (Stretch | null)[]> {
  const [first = '', ...others] = tenants;
  return others.length > 0 ? [null] : (await listMonths(snapshot, first)).flatMap(stretchesOf);
}

/** The stretches that a month is checked in: at once, or by day where its hot records take more than some seconds. */
export function stretchesOf({ month, hot_count }: Month): Stretch[] {
  const first = firstDay(month);
  const last = lastDay(month);
  if (hot_count <= hotAtOnce) return [{ first, last }];
  return Array.from({ length: Number(last.slice(8)) }, (_, i) => {
    const day = `${month}-${String(i + 1).padStart(2, '0')}`;
    return { first: day, last: day };
  });
}

function counterProblem(table: CounterTable, row: WrongCounter): VerifyProblem {
  const { tenant, store, period } = row;
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

function danglingProblem(row: DanglingDays): VerifyProblem {
  return {
    kind: 'triple_mismatch',
    tenant: row.tenant,
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
      (snapshot) => listWrongDays(snapshot, [tenant], { first: day, last: day }, 10),
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
