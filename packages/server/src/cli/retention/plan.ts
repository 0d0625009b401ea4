import { membersOf } from '../../kernel/json-slices.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatInstant } from '../format.ts';
import { maxPageRows, parsePage } from '../pages.ts';
import { parseAnswer } from '../parse-answer.ts';
import { withRetries } from '../retry.ts';
import { formatDays } from './days.ts';

type Plan = RouteAnswer<'GET /retention/plan'>;
export type PlanRow = Plan['data'][number];
export type PlanTotals = Plan['totals'];
type PlanStore = Plan['store'];

/** Which part of the plan: that of one tenant, and of days before a date. */
export type PlanScope = { tenant?: string; before?: string };

type PlanPage = {
  rows: string[];
  totals: PlanTotals;
  hotSpace: Plan['hot_space'];
  /** Why nothing can be moved or deleted; null when it can. */
  problem: string | null;
};

/** Walks through the plan page by page. The totals of all rows are on each page. */
export async function* walkPlan(
  { io }: Context,
  client: Client,
  { tenant, before }: PlanScope,
): AsyncGenerator<PlanPage, void, undefined> {
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const query = { tenant, before, limit: maxPageRows, cursor };
    const read = () => client.text('GET /retention/plan', { query });
    const text = cursor === undefined ? await read() : await withRetries(io, read);
    const { rows, nextCursor } = parsePage(text);
    const member = (name: string) => parseAnswer(membersOf(text).get(name) ?? 'null');
    yield {
      rows,
      totals: member('totals') as PlanTotals,
      hotSpace: member('hot_space') as Plan['hot_space'],
      problem: (member('store') as PlanStore | null)?.problem ?? null,
    };
    cursor = nextCursor === cursor ? null : nextCursor;
  }
}

/** The totals: `3 tenants · 512,991 records (246 MB) would move · 1,204 records (611 kB) would be deleted`. */
export function totalsText(totals: PlanTotals): string {
  const { move, delete: gone, held, versioned } = totals;
  const parts: string[] = [];
  if (move.count > 0) parts.push(`${amount(move)} would move to the cold tier`);
  if (gone.count > 0) parts.push(`${amount(gone)} would be DELETED`);
  if (held.count > 0) parts.push(`${amount(held)} kept by a legal hold`);
  if (versioned.count > 0) parts.push(`${amount(versioned)} kept by dataset versions`);
  return parts.length === 0 ? 'Nothing to move or delete.' : parts.join(' · ');
}

/** How much hot space is dead: `254 MB of 1.1 GB of hot space is dead: the end of a run gives it back`. */
export function hotSpaceText(space: NonNullable<Plan['hot_space']>): string {
  const { size_bytes: size, dead_bytes: dead, snapshot_since: since } = space;
  const held =
    since === null || dead === 0
      ? ''
      : ` · a snapshot open since ${formatInstant(since)} UTC keeps what has died since then`;
  return `${formatBytes(dead)} of ${formatBytes(size)} of hot space is dead${dead === 0 ? '' : ': the end of a run gives it back'}${held}`;
}

/** An amount of records: `512,991 records (246 MB) of 3 tenants`. */
export function amount({ tenants, count, bytes }: PlanTotals['move']): string {
  return `${numberOf(count, 'record')} (${formatBytes(bytes)}) of ${numberOf(tenants, 'tenant')}`;
}

const { word, text, count, bytes } = columnsOf<PlanRow>();

export const planColumns = [
  text('TENANT', 'tenant'),
  word('WHAT', 'kind'),
  word('DAYS (UTC)', (row) => `${row.first_day}/${row.last_day}`, {
    shown: (row) => formatDays(row.first_day, row.last_day),
  }),
  count('RECORDS', 'count'),
  bytes('BYTES', 'bytes'),
  word('HELD', (row) => (row.held ? 'held' : ''), {
    shown: (row) => (row.held ? 'legal hold' : '–'),
  }),
  text('VERSIONS KEEP', 'versioned_count', { shown: keptText }),
];

/** How many records versions keep, and which: `1,204 of 2026-q1, 2026-q2`. */
function keptText({ versioned_count: count, versions }: PlanRow): string {
  return count === 0 ? '–' : `${formatCount(count)} of ${versions.join(', ')}`;
}
