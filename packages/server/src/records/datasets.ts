import type { Static } from 'typebox';
import { type Actor, isOfStores } from '../kernel/actor.ts';
import { daysIn } from '../kernel/day.ts';
import { formatDigest } from '../kernel/digest.ts';
import { invalidInput } from '../kernel/errors.ts';
import { type Page, toKeyset, toPage } from '../kernel/page.ts';
import { maxTokenStores } from '../kernel/values.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import type { DatasetRow, MonthSum, recordsContract } from './contract.ts';
import * as queries from './queries.ts';
import { untagged } from './tags/counters.ts';
import { addCoverage, type Coverage, readCoverage } from './tags/coverage.ts';
import { tierOf } from './values.ts';

export type DatasetsRequest = Static<typeof recordsContract.listDatasets.query>;

/**
 * Returns one page of the rows of the tree at one level. All its counters are read at one moment. Throws 400
 * `cursor_invalid`, and `request_invalid` for daily counts at another level than `month`, or months at another one than
 * `store`.
 */
export async function listDatasets(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: DatasetsRequest,
): Promise<Page<DatasetRow>> {
  const { tenant, store, month, level = 'month', q, include, limit, cursor } = request;
  const more = include === undefined ? undefined : includable[include];
  if (more !== undefined && level !== more.level) {
    throw invalidInput('?include', `${include} goes with level=${more.level} only`);
  }
  const scope = { list: 'datasets', filters: { tenant, store, month, level, q } };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset(page);
  const filter = { tenant, store, month, q, tenants: actor.tenants };
  return db.transaction(
    async (snapshot) => {
      const rows = await queries.listDatasets(snapshot, level, filter, keyset);
      const { data: shown, next_cursor } = toPage(page, rows, names);
      const coverage =
        level === 'tenant' && store === undefined && isOfStores(actor.tenants)
          ? await sumCoverage(snapshot, shown, filter)
          : // The row of a tenant sums only the store that is filtered on, though it does not name that store.
            await readCoverage(
              snapshot,
              shown.map((row) => ({ ...row, store: row.store ?? store ?? null })),
            );
      const data = shown.map((row, i) => toDatasetRow(row, coverage[i]));
      await more?.add(snapshot, data);
      return { data, next_cursor };
    },
    { isolation: 'repeatable read' },
  );
}

/** The coverage of tenants as far as it is of the stores that the caller reaches, which are no more than a token may have. */
async function sumCoverage(
  snapshot: Queryable,
  tenants: readonly { tenant: string }[],
  filter: Parameters<typeof queries.listDatasets>[2],
): Promise<Coverage[]> {
  const ofStores = { ...filter, q: undefined };
  const page = { after: null, limit: maxTokenStores };
  const stores = await queries.listDatasets(snapshot, 'store', ofStores, page);
  const coverage = await readCoverage(snapshot, stores);
  return tenants.map(({ tenant }) => {
    const sum = { ...untagged };
    for (const [i, store] of stores.entries()) {
      if (store.tenant === tenant) addCoverage(sum, coverage[i] ?? untagged, 1);
    }
    return sum;
  });
}

/** What rows of one level can include. */
const includable = {
  days: { level: 'month', add: addDays },
  months: { level: 'store', add: addMonths },
} as const;

/** The records of each month, of all tenants that the actor may see or of one of them. */
export async function listMonthSums(
  db: Database,
  actor: Actor,
  { tenant }: { tenant?: string },
): Promise<{ data: MonthSum[] }> {
  return { data: await queries.sumMonths(db, { tenant, tenants: actor.tenants }) };
}

function names(row: queries.DatasetCounters): string[] {
  return [row.tenant, row.store, row.month].filter((name) => name !== null);
}

function toDatasetRow(row: queries.DatasetCounters, coverage: Coverage | undefined): DatasetRow {
  const { covered, training, fine_tuning } = coverage ?? untagged;
  return {
    tenant: row.tenant,
    store: row.store,
    month: row.month,
    count: row.count,
    bytes: row.bytes,
    // The coverage is 1 only when every record is covered: the quotient of two different integers below 2^53 does not
    // round to 1.
    coverage: row.count === 0 ? null : covered / row.count,
    covered,
    by_dataset: { training, fine_tuning },
    tier: tierOf(row),
    stored_bytes: row.bytes - row.cold_bytes + row.cold_stored_bytes,
    digest: formatDigest(BigInt(row.digest)),
    first_at: row.first_at,
    last_at: row.last_at,
  };
}

/** Adds one count for each day of the month to each leaf; a day without records has 0. */
async function addDays(db: Queryable, leaves: DatasetRow[]): Promise<void> {
  const keys = leaves.map(({ tenant, store, month }) => ({
    tenant,
    store: store ?? '',
    month: month ?? '',
  }));
  for (const leaf of leaves) leaf.days = new Array<number>(daysIn(leaf.month ?? '')).fill(0);
  for (const row of await queries.listLeafDays(db, keys)) {
    const days = leaves[row.leaf - 1]?.days;
    for (const entry of row.days.split(',')) {
      const [index, count] = entry.split(':');
      if (days !== undefined) days[Number(index)] = Number(count);
    }
  }
}

/** Adds the names of their months to stores. */
async function addMonths(db: Queryable, stores: DatasetRow[]): Promise<void> {
  const keys = stores.map(({ tenant, store }) => ({ tenant, store: store ?? '' }));
  for (const row of await queries.listStoreMonths(db, keys)) {
    const store = stores[row.store - 1];
    if (store !== undefined) store.months = row.months.split(',');
  }
}
