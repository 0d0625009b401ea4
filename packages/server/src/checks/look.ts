import type { WorkRow } from '../platform/http/schemas.contract.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { RetentionOverview } from '../retention/contract.ts';
import type { WebhooksOverview } from '../webhooks/contract.ts';
import { listUnreached, type UnreachedTarget } from './notices/queries.ts';
import { type FullDisk, listFullDisks } from './queries.ts';

/** What the checks look at, as it is now and as far as the caller may see it. */
export type Look = {
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

/** What other features know, and what this floor reads from its own tables. */
export function createLook(
  db: Queryable,
  { notifyDiskPercent }: { notifyDiskPercent: number },
  known: Omit<Look, 'unreached' | 'fullDisks'>,
): Look {
  return onceEach({
    ...known,
    unreached: () => listUnreached(db),
    fullDisks: () => listFullDisks(db, notifyDiskPercent),
  });
}

/** Lets each of these read once, however many checks need it. */
function onceEach<T extends Readonly<Record<string, () => unknown>>>(readers: T): T {
  const once = (read: () => unknown) => {
    let made: { value: unknown } | undefined;
    return () => {
      made ??= { value: read() };
      return made.value;
    };
  };
  const each = Object.entries(readers).map(([name, read]) => [name, once(read)]);
  return Object.fromEntries(each) as T;
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
