import type { WorkRow } from '../platform/http/schemas.contract.ts';
import type { WebhooksOverview } from '../webhooks/contract.ts';
import type { Overview, Trouble } from './contract.ts';

/** What is seen of the parts of an overview; a part that the caller may not see is null. */
type Seen = Pick<Overview, 'retention'> & {
  readonly webhooks: Pick<
    WebhooksOverview,
    'abandoned' | 'failing' | 'gone' | 'disabled' | 'held'
  > | null;
  /** Targets of notices to which the last one was given up. */
  readonly unreached: number;
  /** Machines whose disk is nearly full. */
  readonly fullDisks?: number;
  readonly isBackupOverdue?: boolean;
  /** Objects that should have been removed from the store minutes ago. */
  readonly overdueRemovals?: number;
  /** Whether cold data can neither be written nor perhaps be read. */
  readonly isStoreUnusable: boolean;
  readonly work?: readonly Pick<WorkRow, 'state'>[];
};

/** What is wrong, the worst first. Empty means that all is well, as far as the caller may see. */
export function findTroubles(seen: Seen): Trouble[] {
  const {
    retention,
    webhooks,
    unreached,
    fullDisks = 0,
    isBackupOverdue = false,
    work = [],
  } = seen;
  const { verification = null, run = null } = retention ?? {};
  const { failing = 0, gone = 0, disabled = 0, held = 0, abandoned = 0 } = webhooks ?? {};
  const differences = verification?.ok === false ? verification.problem_count : 0;
  const waiting = work.filter(({ state }) => state === 'waiting').length;
  const isUnread = verification?.ok === null;
  const all: Trouble[] = [
    { kind: 'verification_differs', count: differences, id: verification?.id ?? null },
    { kind: 'store_unusable', count: Number(retention !== null && seen.isStoreUnusable), id: null },
    { kind: 'removals_overdue', count: seen.overdueRemovals ?? 0, id: null },
    { kind: 'store_waited_for', count: waiting, id: null },
    { kind: 'disk_nearly_full', count: fullDisks, id: null },
    { kind: 'endpoints_failing', count: failing, id: null },
    { kind: 'endpoints_gone', count: gone, id: null },
    { kind: 'endpoints_disabled', count: disabled, id: null },
    { kind: 'endpoints_held', count: held, id: null },
    { kind: 'deliveries_abandoned', count: abandoned, id: null },
    { kind: 'backup_overdue', count: Number(isBackupOverdue), id: null },
    {
      kind: 'run_failed',
      count: run?.ok === false ? Math.max(1, run.failed_moves) : 0,
      id: run?.id ?? null,
    },
    { kind: 'verification_failed', count: Number(isUnread), id: verification?.id ?? null },
    { kind: 'notices_undelivered', count: unreached, id: null },
  ];
  return all.filter(({ count }) => count > 0);
}
