import { formatCount, numberOf } from '../../kernel/values.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { formatBytes, formatInstant } from '../format.ts';
import { list } from '../list.ts';
import { checkDate, daysText } from '../slice.ts';
import type { Given } from '../verb.ts';

type Plan = RouteAnswer<'GET /retention/plan'>;
export type PlanRow = Plan['data'][number];

/** Which part of the plan: that of one tenant, and of days before a date. */
export const scopeOptions = [
  ['--tenant <tenant>', 'only this tenant'],
  ['--before <date>', 'only days before this one, as 2026-03-05 (UTC)'],
] as const;

export const plan = list('GET /retention/plan', {
  summary: 'tell what a run would move and delete now',
  description:
    'Tells what a run would move to the cold tier and what it would delete now, by tenant, to the record.',
  examples: [
    'svcctl retention plan',
    'svcctl retention plan --tenant TX --before 2001-05-01',
    'svcctl retention plan --json tenant,kind,count',
  ],
  options: scopeOptions,
  query({ tenant, before }: Given<typeof scopeOptions>) {
    checkDate('--before', before);
    return { tenant, before };
  },
  columns: () => columns,
  note(member) {
    const problem = (member('store') as Plan['store'] | null)?.problem ?? null;
    return problem && `Nothing can be moved or deleted now. ${problem}`;
  },
  // The totals of all rows are on each page.
  below({ member }) {
    const space = member('hot_space') as Plan['hot_space'];
    const hot = space === null ? '' : `\n${hotSpaceText(space)}`;
    return `${totalsText(member('totals') as Plan['totals'])} · do it: svcctl retention run${hot}`;
  },
});

/** The totals: `3 tenants · 512,991 records (246 MB) would move · 1,204 records (611 kB) would be deleted`. */
export function totalsText(totals: Plan['totals']): string {
  const { move, delete: gone, held, versioned } = totals;
  const parts: string[] = [];
  if (move.count > 0) parts.push(`${amount(move)} would move to the cold tier`);
  if (gone.count > 0) parts.push(`${amount(gone)} would be DELETED`);
  if (held.count > 0) parts.push(`${amount(held)} kept by a legal hold`);
  if (versioned.count > 0) parts.push(`${amount(versioned)} kept by dataset versions`);
  return parts.length === 0 ? 'Nothing to move or delete.' : parts.join(' · ');
}

/** How much hot space is dead: `254 MB of 1.1 GB of hot space is dead: the end of a run gives it back`. */
function hotSpaceText(space: NonNullable<Plan['hot_space']>): string {
  const { size_bytes: size, dead_bytes: dead, snapshot_since: since } = space;
  const held =
    since === null || dead === 0
      ? ''
      : ` · a snapshot open since ${formatInstant(since)} UTC keeps what has died since then`;
  return `${formatBytes(dead)} of ${formatBytes(size)} of hot space is dead${dead === 0 ? '' : ': the end of a run gives it back'}${held}`;
}

/** An amount of records: `512,991 records (246 MB) of 3 tenants`. */
export function amount({ tenants, count, bytes }: Plan['totals']['move']): string {
  return `${numberOf(count, 'record')} (${formatBytes(bytes)}) of ${numberOf(tenants, 'tenant')}`;
}

const { word, text, count, bytes } = columnsOf<PlanRow>();

const columns = [
  text('TENANT', 'tenant'),
  word('WHAT', 'kind'),
  word('DAYS (UTC)', (row) => `${row.first_day}/${row.last_day}`, { shown: daysText }),
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
