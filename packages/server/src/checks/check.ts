import type { WorkRow } from '../platform/http/schemas.contract.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { SlowStatement } from '../platform/postgres/slow-statements.ts';
import type { RetentionOverview } from '../retention/contract.ts';
import type { EndpointTrouble } from '../webhooks/values.ts';
import type { ProcessRow } from './contract.ts';
import type { UnreachedTarget } from './notices/queries.ts';
import type { FullDisk, Overdue } from './queries.ts';
import type { CheckName, CheckSeverity, NoticeKind } from './values.ts';

/** One thing that a check has found. */
export type Problem = {
  /** A sentence without its full stop, in lower case, so that it can stand after another. */
  readonly text: string;
  /** How bad it is, where that is not as bad as its check says. `ok`: nothing is wrong, in words of its own. */
  readonly severity?: CheckSeverity | 'ok' | 'unchecked';
  /** How many things it tells of at once; 1 where that is not said. */
  readonly count?: number;
  /** The id of what it is about, such as a run, an endpoint, a tenant or a process. */
  readonly id?: string;
  readonly tenant?: string | null;
  /** RFC 3339; null: as of now. */
  readonly since?: string | null;
  /** What to do and to type, where that is not what its check says. */
  readonly remedy?: string;
  readonly command?: string;
};

/** What is checked under a name of its own in a row of svcctl doctor; null: not there. */
type Named =
  | { readonly name: CheckName; readonly row?: never }
  | { readonly name: NoticeKind | OwnName; readonly row: CheckName | null };
type OwnName =
  | 'database_read_only'
  | 'secret_key'
  | 'standby_missing'
  | `run_${string}`
  | 'cold_data_unverified';

/** One row of what is checked. */
export type Check<To = Look> = Named & {
  /** How bad anything is that this check finds. */
  readonly severity: CheckSeverity;
  /** Whether it reads next to nothing: such checks are part of GET /status and of the metrics. */
  readonly isQuick?: true;
  /** Looks for what is wrong. What it throws says that it could not be checked. */
  look(to: To): Promise<readonly Problem[]> | readonly Problem[];
  /** What is said when nothing is wrong. */
  readonly well: string;
  /** What to do about it, in whole sentences. */
  readonly remedy: string;
  /** The command that mends it, or says what does; without an id for several at once. */
  command?(id?: string): string;
};

/** A check of which people are told, on OVERVIEW and by notices. */
export type ToldCheck = Check & {
  readonly name: NoticeKind;
  /** It is told when it has lasted for so long: what passes by itself is not worth a call at night. */
  readonly holdSeconds: number;
  /** Whether it is told again each day for as long as it lasts; true where that is not said. */
  readonly isRepeated?: false;
  /** Whether there is only one at a time, so that another id is a trouble anew. */
  readonly isSingle?: true;
  /** What is said of several at once, by how many they are. */
  many?(count: number): string;
  command(id?: string): string;
  /** Where the console shows it, as `#/endpoints`. */
  place(id?: string): string;
};

/** The row of svcctl doctor that tells of a check; null: none does. */
export function rowOf(check: Named): CheckName | null {
  return check.row === undefined ? check.name : check.row;
}

/** Nothing where the count is 0, else the one problem that tells of so many. */
export function ifAny(count: number, text: string, more: Partial<Problem> = {}): Problem[] {
  return count === 0 ? [] : [{ text, count, ...more }];
}

/** A process as sentences name it. */
export function nameOf({ host, pid }: Pick<ProcessRow, 'host' | 'pid'>): string {
  return `${host}:${pid}`;
}

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
  /** The exports that have not ended, and the counts of records. */
  readonly exports: () => Promise<readonly WorkRow[]>;
  readonly counts: () => Promise<readonly WorkRow[]>;
  /** The schedules of exports that fail or are late. */
  readonly schedules: () => Promise<readonly TroubledSchedule[]>;
  /** Objects that should have been removed from the store minutes ago. */
  readonly overdueRemovals: () => Promise<number>;
  /** What is wrong with the store of cold data, a sentence each. */
  readonly storeProblems: () => Promise<readonly string[]>;
  readonly webhooks: () => Promise<WebhookTroubles>;
  /** How many dead letters will be purged by themselves within a day. */
  readonly purgedSoon: () => Promise<number>;
  /** Targets of notices to which the last one was given up. */
  readonly unreached: () => Promise<readonly UnreachedTarget[]>;
  /** Machines whose disk is nearly full. */
  readonly fullDisks: () => Promise<readonly FullDisk[]>;
  /** Why the key of webhook secrets would be missing to the next start of the process that looks; null: it is here. */
  readonly keyFault: () => Promise<string | null>;
  /** Why the process that looks does not seal the audit log any more; null: it does. */
  readonly sealFault: () => string | null;
  /** Whether a Prometheus reads the metrics of the process that looks. */
  readonly isScraped: () => boolean;
  /** The store to which the audit log cannot be copied, and the last error. `failing_since` is RFC 3339. */
  readonly failingCopy: () => Promise<
    { location: string; failing_since: string; error: string } | undefined
  >;
  /** What waits for somebody else to confirm it. `since` is RFC 3339. */
  readonly waitingApprovals: () => Promise<readonly WaitingApproval[]>;
  /** Who exported more within 24 hours than SVC_EXPORT_TELL_ROWS allows, and of which tenant most. `since` is RFC 3339. */
  readonly largeExports: () => Promise<
    readonly {
      readonly id: string;
      readonly name: string;
      readonly rows: number;
      readonly exports: number;
      readonly tenant: string;
      readonly since: string;
    }[]
  >;
  /** Valid tokens that nobody has used for 90 days. */
  readonly unusedTokens: () => Promise<readonly { id: string; name: string }[]>;
  /** The last good backup where another is overdue, or undefined where there is none; null when none is overdue. */
  readonly overdueBackup: () => Promise<{ taken_at: string; place: string } | undefined | null>;
};

/** A request that somebody else must confirm: what it does, as a sentence, and who asked for it. */
type WaitingApproval = {
  readonly id: string;
  readonly says: string;
  readonly asker: string;
  readonly tenant: string | null;
  readonly since: string;
};

/** A schedule of exports that needs somebody. `since` is RFC 3339. */
type TroubledSchedule = {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly state: 'failing' | 'late';
  readonly since: string | null;
};

/** An endpoint that needs somebody. `since` and `until` are RFC 3339; after `until` it is disabled. */
export type TroubledEndpoint = {
  readonly id: string;
  readonly tenant: string;
  readonly url: string;
  readonly state: EndpointTrouble;
  readonly since?: string | null;
  readonly until?: string | null;
  /** The first of the keys that are blocked. */
  readonly key?: string | null;
};

/** Deliveries without attempts left, and endpoints that need somebody: how many in each state, and some of them by name. */
export type WebhookTroubles = {
  readonly abandoned: number;
  readonly endpoints: Partial<Readonly<Record<EndpointTrouble, number>>>;
  readonly named: readonly TroubledEndpoint[];
};
