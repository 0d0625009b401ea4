import { ApiError } from '../api/client.ts';

/** What a query tells about itself, as far as freshness needs it. */
export type QueryState = {
  readonly status: 'pending' | 'error' | 'success';
  /** When data last came, in milliseconds; 0 means never. */
  readonly dataUpdatedAt: number;
  readonly errorUpdatedAt: number;
  readonly errorUpdateCount: number;
  /** The last failure; null when the last answer was good, or a first load is tried again. */
  readonly error: Error | null;
};

/** A series of failures of one query, without a good answer in between. Times are in milliseconds. */
export type Outage = {
  readonly error: Error;
  readonly since: number;
  readonly failures: number;
  /** From the last failure to the next try; null where there is none, because it would fail the same way. */
  readonly delayMillis: number | null;
  /** When it is tried next, in milliseconds; null when it is not tried again. */
  readonly nextTryAt: number | null;
  readonly dataUpdatedAt: number;
  readonly errorUpdateCount: number;
};

const shortestDelayMillis = 2_000;
const longestDelayMillis = 12_000;

/** Whether the same call may succeed later: after 5xx, no connection, a time-out, or 429. */
export function isPassing(error: Error): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}

/** The outage of a failed query, or the `previous` one that already includes it; undefined after a good answer. */
export function nextOutage(
  previous: Outage | undefined,
  state: QueryState,
  random: () => number,
): Outage | undefined {
  // While a first load is tried again, the query is `pending` and has no error. It is still in the same outage.
  const isTryingAgain = state.status === 'pending' && state.dataUpdatedAt === 0;
  if (isTryingAgain) return previous;
  if (state.status !== 'error' || state.error === null) return undefined;
  if (previous?.errorUpdateCount === state.errorUpdateCount) return previous;
  const isSame = previous !== undefined && previous.dataUpdatedAt === state.dataUpdatedAt;
  const failures = isSame ? previous.failures + 1 : 1;
  const delay = delayAfter(state.error, failures, random);
  return {
    error: state.error,
    since: isSame ? previous.since : state.errorUpdatedAt,
    failures,
    delayMillis: delay,
    nextTryAt: delay === null ? null : state.errorUpdatedAt + delay,
    dataUpdatedAt: state.dataUpdatedAt,
    errorUpdateCount: state.errorUpdateCount,
  };
}

/** The delay before the next try: 2 s, doubling to 12 s, a fifth longer at random, never below Retry-After; or null. */
export function delayAfter(error: Error, failures: number, random: () => number): number | null {
  if (!isPassing(error)) return null;
  const doubled = Math.min(shortestDelayMillis * 2 ** (failures - 1), longestDelayMillis);
  const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  // Chance keeps the pages of a whole team from trying again in the same instant.
  return Math.round(Math.max(doubled, asked) * (1 + random() / 5));
}

type Watched = {
  readonly state: QueryState;
  readonly outage: Outage | undefined;
  readonly isStale: boolean;
  readonly isTrying: boolean;
};

/** What the banner tells: the longest outage, of when the oldest data is, and whether it is tried now; or null. */
export function failureOf(queries: readonly Watched[]) {
  const failing = queries.filter(({ outage, state }) => outage && isToTell(outage.error, state));
  const [longest] = failing.flatMap(({ outage }) => outage ?? []).sort((a, b) => a.since - b.since);
  if (longest === undefined) return null;
  const times = queries
    .filter((query) => query.isStale || failing.includes(query))
    .map(({ state }) => state.dataUpdatedAt)
    .filter((at) => at > 0);
  return {
    outage: longest,
    dataOf: times.length === 0 ? 0 : Math.min(...times),
    isTrying: failing.some(({ isTrying }) => isTrying),
  };
}

/** A 401 is left to the sign-in, and what will not pass to what stands in the place of the data. */
function isToTell(error: Error, { dataUpdatedAt }: QueryState): boolean {
  return !isSignedOut(error) && (isPassing(error) || dataUpdatedAt > 0);
}

function isSignedOut(error: Error): boolean {
  return error instanceof ApiError && error.status === 401;
}

/** Describes the failure in about three words. */
export function describeFailure(error: Error): string {
  if (!(error instanceof ApiError)) return 'The page made a mistake';
  switch (error.status) {
    case 0:
      return error.code === 'timeout' ? 'No answer in time' : 'No connection';
    case 401:
      return 'Signed out';
    case 403:
      return 'No access';
    case 404:
      return 'Not found';
    case 429:
      return '429 Too many requests';
    default:
      return error.status >= 500 ? `${error.status} from the service` : `${error.status} refused`;
  }
}

/** What to do next, as the service says it. */
export function reasonOf(error: Error): string {
  return error instanceof ApiError ? error.detail : error.message;
}

/** A sentence about why a sign-in failed, and whether to try the same again. */
export function signInFailure(error: Error): string {
  const detail = reasonOf(error);
  return isPassing(error) ? `${describeFailure(error)}: ${detail} Try again in a moment.` : detail;
}
