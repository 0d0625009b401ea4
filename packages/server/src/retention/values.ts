// The closed lists of the retention feature. Contract, command line and console all take them from here. The file has
// no schema code, so it costs the command line no start-up time and the console no bytes.

import { formatCount } from '../kernel/values.ts';

/**
 * The kinds of moves: hot days become cold, small segments are merged, the policy deletes days, somebody erases
 * records, a segment whose object is lost leaves the catalogue, imported days become cold at once.
 */
export const moveKinds = ['move', 'compact', 'delete', 'erase', 'forget', 'import'] as const;
export type MoveKind = (typeof moveKinds)[number];

/** The type of the body with imported days. */
export const parquetType = 'application/vnd.apache.parquet';

/** The kinds of work that a plan announces: hot days become cold, or whole days are deleted. */
export const planKinds = ['move', 'delete'] as const;

/** How the tenants may be listed: by name, or by what a run would do now. */
export const tenantOrders = ['tenant', 'due'] as const;
export type TenantOrder = (typeof tenantOrders)[number];

/** The states that a move passes through, in their order. */
export const transitions = ['planned', 'copied', 'verified', 'switched', 'removed'] as const;
export type Transition = (typeof transitions)[number];

/** All states of a move: those above, and `failed`, in which a move ends that does not get to the switch. */
export const moveStates = [...transitions, 'failed'] as const;
export type MoveState = (typeof moveStates)[number];

/** The states in which a move has changed nothing that a reader sees. It may still fail without any loss. */
export const statesBeforeSwitch: readonly MoveState[] = ['planned', 'copied', 'verified'];

/**
 * The codes of failed moves that policies have called off, or what others did meanwhile: nobody has to look into them.
 */
export const calledOffCodes: readonly string[] = [
  ...['tenant_on_hold', 'not_due', 'kept_by_version'],
  ...['days_held', 'pinned_meanwhile', 'upload_gone', 'import_ended'],
];

/** What a segment is: read, or replaced, and removed from the store after a time of grace. */
export const segmentStates = ['live', 'replaced'] as const;
export type SegmentState = (typeof segmentStates)[number];

/** The states of runs and verifications. One that waits goes on by itself when the store answers. */
export const retentionJobStates = ['queued', 'running', 'waiting', 'completed', 'failed'] as const;
export type RetentionJobState = (typeof retentionJobStates)[number];

/** The kinds of problems that a verification may find. */
export const problemKinds = [
  'object_missing',
  'object_size',
  'object_damaged',
  'object_orphan',
  'object_overdue',
  'upload_unfinished',
  'triple_mismatch',
  'counter_mismatch',
  'order_mismatch',
  'filter_mismatch',
] as const;
export type ProblemKind = (typeof problemKinds)[number];

/** What becomes of the key of an erased tenant's backups. */
export const backupKeyStates = ['due', 'removed'] as const;
export const backupKeyHelp =
  'the key by which backups encrypt the tenant, where nothing of it is left and SVC_BACKUP_KEYS is set: due, and removed as soon as its place can be written; null: it stays';

/**
 * How many things an erasure concerned, with the names that its receipt has: `3: spring, summer and 1 more`. Of what the
 * release before did not know its receipts tell neither.
 */
export function countWithNames(
  count = 0,
  named: readonly { readonly name: string }[] = [],
): string {
  if (named.length === 0) return formatCount(count);
  const more = count - named.length;
  const rest = more > 0 ? ` and ${formatCount(more)} more` : '';
  return `${formatCount(count)}: ${named.map(({ name }) => name).join(', ')}${rest}`;
}
