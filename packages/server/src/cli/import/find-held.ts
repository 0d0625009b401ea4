import type { DatasetRow } from '../../contract.ts';
import { formatCount } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { walkRows } from '../pages.ts';

type LeafRows = ReturnType<
  ReturnType<typeof import('../../app.ts')['createDayTally']>['leaves']
>[number];

/** A leaf into which rows fall, on days that hold records already. */
export type HeldLeaf = {
  readonly tenant: string;
  readonly store: string;
  readonly month: string;
  /** The rows that fall into it, and on how many days. */
  readonly rows: number;
  readonly days: number;
  /** How many of these days hold records, and how many records. */
  readonly held_days: number;
  readonly held_records: number;
};

const mostStores = 1000;

/** Asks the service which of these days hold records. What the token may not read is passed over with a note. */
export async function findHeld(
  context: Context,
  client: Client,
  leaves: readonly LeafRows[],
): Promise<HeldLeaf[]> {
  const stores = new Map<string, Map<string, LeafRows>>();
  for (const leaf of leaves) {
    const key = `${leaf.tenant}/${leaf.store}`;
    const months = stores.get(key) ?? new Map<string, LeafRows>();
    stores.set(key, months.set(leaf.month, leaf));
  }
  const held: HeldLeaf[] = [];
  for (const [key, months] of [...stores].slice(0, mostStores)) {
    const [tenant, store] = key.split('/');
    const query = { tenant, store, include: 'days' } as const;
    const walk = { route: 'GET /enrichment/datasets', query } as const;
    try {
      for await (const row of walkRows(context.io, client, walk)) {
        const leaf = months.get(row.month ?? '');
        const found = leaf && heldIn(leaf, row);
        if (found !== undefined && found.held_days > 0) held.push(found);
      }
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'scope_missing') throw error;
      context.note('note: this token may not read, so what the days hold already is not told.');
      return [];
    }
  }
  if (stores.size > mostStores) {
    context.note(`note: only the first ${formatCount(mostStores)} stores were looked up.`);
  }
  return held;
}

function heldIn({ days, ...leaf }: LeafRows, row: DatasetRow): HeldLeaf {
  const counts = days.map((day) => row.days?.[day - 1] ?? 0);
  return {
    ...leaf,
    days: days.length,
    held_days: counts.filter((count) => count > 0).length,
    held_records: counts.reduce((sum, count) => sum + count, 0),
  };
}
