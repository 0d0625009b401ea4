/** All paths of the API begin with it. */
export const basePath = '/api/v1';

/** What a token may do. The scope `admin` includes all the others. */
export const scopes = [
  'enrichment:read',
  'enrichment:write',
  'analytics:read',
  'datasets:write',
  'incidents:read',
  'incidents:write',
  'webhooks:read',
  'deliveries:poll',
  'deliveries:retry',
  'dlq:operate',
  'endpoints:manage',
  'webhooks:manage',
  'retention:manage',
  'audit:read',
  'tokens:manage',
  'admin',
] as const;
export type Scope = (typeof scopes)[number];

/** Who acts: a person whom the identity server vouches for, an access token, or nobody that signed in. */
export const actorKinds = ['person', 'token', 'none'] as const;

/**
 * What a browser is sent to the identity server for: to sign in by the page that it shows (`page`) or by a window beside
 * that (`window`), or to show that the person is still there (`confirm`).
 */
export const signInPurposes = ['page', 'window', 'confirm'] as const;
export type SignInPurpose = (typeof signInPurposes)[number];
/** The scopes that another one includes. */
const included: { readonly [S in Scope]?: readonly Scope[] } = {
  'webhooks:read': ['incidents:read'],
  'deliveries:retry': ['webhooks:read', 'incidents:read'],
  'dlq:operate': ['deliveries:retry', 'webhooks:read', 'incidents:read'],
  'endpoints:manage': ['webhooks:read', 'incidents:read'],
  'webhooks:manage': ['endpoints:manage', 'deliveries:retry', 'webhooks:read', 'incidents:read'],
  'retention:manage': ['enrichment:read'],
  'tokens:manage': ['audit:read'],
  admin: scopes,
};

/** What each scope lets its bearer do, in a few words. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  'enrichment:read': 'browse records, coverage, tags, versions and retention',
  'enrichment:write': 'store and import records',
  'analytics:read': 'export records, and read EXPORTS',
  'datasets:write': 'tag slices, and freeze versions of them',
  'incidents:read': 'read incidents with their payloads, and event types',
  'incidents:write': 'report incidents',
  'webhooks:read': 'read endpoints, deliveries and dead letters',
  'deliveries:poll': 'fetch what waits for endpoints that are polled, and acknowledge it',
  'deliveries:retry': 'retry and skip a delivery, and replay an endpoint',
  'dlq:operate': 'retry in bulk as well, and follow bulk jobs; discard nothing',
  'endpoints:manage':
    'make, change and test endpoints, and rotate their secrets; retry and discard nothing',
  'webhooks:manage':
    'manage endpoints as well, delete them, retry and replay, and make links to the portal',
  'retention:manage': 'set policies, and begin runs and verifications',
  'audit:read':
    'read and verify the audit log and receipts of erasures, and see tokens and sessions',
  'tokens:manage':
    'make, rotate and revoke tokens that may do no more than itself, and what audit:read does',
  admin: 'all of it, and what is destructive: erase, purge, adopt a store',
};

/** Returns whether what these scopes allow includes what that one does. */
export function includesScope(has: readonly Scope[], wanted: Scope): boolean {
  return has.some((scope) => scope === wanted || included[scope]?.includes(wanted));
}

/** For each scope, itself and those that include it. */
export const scopesWith: Readonly<Record<string, readonly Scope[]>> = Object.fromEntries(
  scopes.map((wanted) => [wanted, scopes.filter((scope) => includesScope([scope], wanted))]),
);

/** What one asks for and another confirms, where `SVC_FOUR_EYES` names it. */
export const fourEyesActs = ['erase', 'delete_days', 'adopt_store', 'lift_hold'] as const;
export type FourEyesAct = (typeof fourEyesActs)[number];

/** The only scopes that a token limited to stores may have: what else there is belongs to tenants as a whole. */
export const storeScopes: readonly Scope[] = [
  'enrichment:read',
  'enrichment:write',
  'analytics:read',
];
/** A token may be limited to so many stores. */
export const maxTokenStores = 1000;

/** Named bundles of scopes, for those who make tokens. */
export const presets = {
  'support-readonly': ['enrichment:read', 'analytics:read'],
  viewer: ['enrichment:read', 'analytics:read', 'webhooks:read'],
  pipeline: ['enrichment:write', 'incidents:write'],
  curator: ['enrichment:read', 'analytics:read', 'datasets:write'],
  'on-call': ['enrichment:read', 'dlq:operate'],
  webhooks: ['webhooks:manage'],
  auditor: ['audit:read'],
  admin: ['admin'],
} as const satisfies Record<string, readonly Scope[]>;
export type Preset = keyof typeof presets;

/**
 * Returns the first preset that includes the scope, which is what to ask an admin for. Undefined when there is no such
 * scope.
 */
export function presetWith(scope: string): Preset | undefined {
  const names = Object.keys(presets) as Preset[];
  return names.find((name) => presets[name].some((has) => has === scope));
}

/**
 * How the store of cold data stands to this database:
 *
 * - own: this process reads and writes it.
 * - elsewhere: it has gone on with another database.
 * - read_only: this process only reads it, because its settings say so.
 * - unclaimed: it has no marker, and it does not hold what this database knows.
 * - unavailable: it cannot be listed or written.
 * - unknown: nobody has looked at it yet.
 */
export const storeStates = [
  'own',
  'elsewhere',
  'read_only',
  'unclaimed',
  'unavailable',
  'unknown',
] as const;
export type StoreState = (typeof storeStates)[number];

/** The kinds of work that may be under way. */
export const workKinds = [
  'run',
  'verification',
  'export',
  'count',
  'retry',
  'purge',
  'replay',
] as const;

/** The states of such work. */
export const workStates = ['queued', 'running', 'waiting', 'paused'] as const;
type WorkState = (typeof workStates)[number];

/** The state of work that has not ended. */
export function toWorkState(state: string): WorkState {
  return workStates.find((known) => known === state) ?? 'running';
}

/** Codes of refusals before which nothing was done: any such call may be made again after its `Retry-After`. */
const busyCodes = [
  'rate_limited',
  'requests_busy',
  'ingest_busy',
  'exports_busy',
  'overloaded',
] as const;

/** What asks for no more than so many seconds is waited for without a word, so often. Callers fail after that. */
const shortWaits = { seconds: 5, times: 3 };

/**
 * Returns how long to wait before a refused call is made again, in seconds; null when it should fail. `tries` counts the
 * calls made so far.
 */
export function shortWaitOf(
  { code, retryAfterSeconds }: { code: string; retryAfterSeconds?: number | null | undefined },
  tries: number,
): number | null {
  if (!busyCodes.some((busy) => busy === code) || tries > shortWaits.times) return null;
  const asked = retryAfterSeconds ?? null;
  return asked !== null && asked <= shortWaits.seconds ? asked : null;
}

/**
 * Where erased records may still be. hot_pages: in PostgreSQL's files; ids: only event ids; wal: in PostgreSQL's log;
 * deliveries: in folders of schedules; downloads: in files that were fetched; conditions: in the `where` of something.
 */
export const remainKinds = [
  'hot_pages',
  'ids',
  'wal',
  'objects',
  'backups',
  'deliveries',
  'downloads',
  'conditions',
  'incidents',
  'keys',
  'attempts',
  'receivers',
] as const;

/** A whole number with separators: `1,234,567`. The first `toLocaleString` of a process would take 100 ms. */
export function formatCount(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** How many of something there are: `1 row`, `1,234 rows`. */
export function numberOf(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A size: `812 B`, `2.1 MB`, `246 MB`. Units are powers of 1000, with one decimal below 100. */
export function formatBytes(value: number): string {
  let scaled = value;
  let unit = 0;
  // 999.5 would be written as 1000, so it belongs to the next unit already.
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  const isWhole = unit === 0 || scaled >= 99.95;
  return `${isWhole ? formatCount(Math.round(scaled)) : scaled.toFixed(1)} ${units[unit]}`;
}

/** A share as a percentage: `38 %`. 100 % and 0 % mean exactly that; null is `–`. */
export function formatShare(share: number | null): string {
  if (share === null) return '–';
  if (share > 0 && share < 0.01) return '<1 %';
  // In floating point 0.29 × 100 is 28.999…, which has to count as 29.
  return `${share < 1 ? Math.min(99, Math.floor(share * 100 + 1e-9)) : 100} %`;
}

/** A word, quoted if necessary so that it can be pasted into a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
