import type { WorkRow } from '../platform/http/schemas.contract.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { SlowStatement } from '../platform/postgres/slow-statements.ts';
import type { RetentionOverview } from '../retention/contract.ts';
import type { WebhooksOverview } from '../webhooks/contract.ts';
import type { ProcessRow } from './contract.ts';
import type { UnreachedTarget } from './notices/queries.ts';
import { type FullDisk, listStoredProcesses, type Overdue } from './queries.ts';
import { processStateOf } from './values.ts';

/** What the checks look at, as it is now and as far as the caller may see it. */
export type Look = {
  readonly db: Queryable;
  readonly processes: () => Promise<readonly ProcessRow[]>;
  /** The statements of this process that took long. */
  readonly slowStatements: () => readonly SlowStatement[];
  /** How far the clock of this machine is ahead of that of the store of cold data; null when that tells none. */
  readonly storeClockAheadMillis: () => number | null;
  /** In how many days all cold data is verified; 0: only on request. */
  readonly verifyDays: number;
  /** The first run that the schedule asks for after this time, in milliseconds; null when none. */
  readonly nextRun: (afterMillis: number) => number | null;
  readonly overdue: () => Promise<Overdue>;
  /** Some days of some tenants whose counters are not what they count. */
  readonly sampleCounters: () => Promise<readonly { tenant: string; text: string }[]>;
  /** The last run and the last verification that ended, null for a caller who may not see them, and those that have not. */
  readonly retention: () => Promise<{
    retention: RetentionOverview | null;
    work: readonly WorkRow[];
  }>;
  /** The exports that have not ended. */
  readonly exports: () => Promise<readonly WorkRow[]>;
  /** Objects that should have been removed from the store minutes ago. */
  readonly overdueRemovals: () => Promise<number>;
  /** What is wrong with the store of cold data, a sentence each. */
  readonly storeProblems: () => Promise<readonly string[]>;
  readonly webhooks: () => Promise<WebhookTroubles>;
  /** Targets of notices to which the last one was given up. */
  readonly unreached: () => Promise<readonly UnreachedTarget[]>;
  /** Machines whose disk is nearly full. */
  readonly fullDisks: () => Promise<readonly FullDisk[]>;
  /** The last good backup where another is overdue, or undefined where there is none; null when none is overdue. */
  readonly overdueBackup: () => Promise<{ taken_at: string; place: string } | undefined | null>;
};

/** What can be wrong with an endpoint. */
export type EndpointTrouble = 'failing' | 'gone' | 'disabling' | 'disabled' | 'held';

/** An endpoint that needs somebody. `since` and `until` are RFC 3339; after `until` it is disabled. */
export type TroubledEndpoint = {
  readonly id: string;
  readonly tenant: string;
  readonly url: string;
  readonly state: EndpointTrouble;
  readonly since?: string | null;
  readonly until?: string | null;
};

/** Deliveries without attempts left, and endpoints that need somebody: how many in each state, and some of them by name. */
export type WebhookTroubles = {
  readonly abandoned: number;
  readonly endpoints: Partial<Readonly<Record<EndpointTrouble, number>>>;
  readonly named: readonly TroubledEndpoint[];
};

/** The processes on this database, with what their last beat means now. */
export async function listProcesses(db: Queryable): Promise<ProcessRow[]> {
  const rows = await listStoredProcesses(db);
  return rows.map((row) => ({
    ...row,
    roles: [...row.roles],
    secret_keys: [...row.secret_keys],
    state: processStateOf(row.silent_seconds),
  }));
}

/** What of webhooks is wrong by their overview; null is nothing. */
export function troublesOf(webhooks: WebhooksOverview | null): WebhookTroubles {
  if (webhooks === null) return { abandoned: 0, endpoints: {}, named: [] };
  const named = webhooks.endpoints.flatMap(({ id, tenant, url, ...endpoint }) => {
    const state = stateOf(endpoint);
    return state === null ? [] : [{ id, tenant, url, state }];
  });
  return { abandoned: webhooks.abandoned, endpoints: webhooks, named };
}

function stateOf({
  health,
  disabled_reason: reason,
}: Pick<
  WebhooksOverview['endpoints'][number],
  'health' | 'disabled_reason'
>): EndpointTrouble | null {
  if (health === 'failing' || health === 'gone') return health;
  if (health !== 'disabled') return null;
  return reason === 'failing' ? 'disabled' : 'held';
}
