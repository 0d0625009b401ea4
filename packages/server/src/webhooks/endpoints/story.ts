import type { Queryable } from '../../platform/postgres/database.ts';
import type { DeliveryRow, EndpointStory } from '../contract.ts';
import { listBulkJobs } from '../dead-letters/job-queries.ts';
import { listRows } from '../dead-letters/read-queries.ts';
import { withHours } from '../hours.ts';
import { answerBounds, deadLetterStatuses } from '../values.ts';
import { listBlocked } from './blocked-queries.ts';
import type { EndpointRow } from './queries.ts';
import * as queries from './story-queries.ts';

const periods = [24, 7 * 24, 30 * 24] as const;
const mostJobs = 5;
const mostBlocked = 20;
/** How much of an answer is told with the last error. */
const toldCharacters = 400;

/** How an endpoint fared, for a few look-ups and the sum of 720 rows, whatever its traffic. */
export async function readStory(
  db: Queryable,
  reach: readonly string[] | null,
  id: string,
): Promise<EndpointStory> {
  const attempts = await queries.listRecentAttempts(db, id);
  const failed = attempts.find((attempt) => attempt.failure_class !== null);
  const sums = await queries.sumPeriods(db, id, periods);
  return {
    last_error:
      failed === undefined
        ? await findLastFailure(db, id)
        : {
            at: failed.started_at,
            delivery_id: failed.delivery_id,
            failure_class: failed.failure_class,
            status: failed.status,
            error: failed.error,
            answer: toldAnswer(failed.response),
          },
    attempts: attempts.map(({ response: _response, ...attempt }) => attempt),
    periods: sums.map(({ hours, delivered, tries, answer_times: times }) => ({
      hours,
      attempts: tries,
      delivered,
      success_share: tries === 0 ? null : delivered / tries,
      answered: times.reduce((sum, count) => sum + count, 0),
      p50_ms: percentile(times, 0.5),
      p95_ms: percentile(times, 0.95),
      p99_ms: percentile(times, 0.99),
    })),
    oldest_waiting: await queries.findOldestWaiting(db, id),
    polled: await queries.findPolledState(db, id),
    dead_letters: await queries.countDeadLettersOf(db, id),
    blocked: await listBlocked(db, id, { after: null, limit: mostBlocked, isAwaited: true }),
    jobs: await listBulkJobs(db, { reach, endpointId: id }, { after: null, limit: mostJobs }),
    replays: await queries.listReplaysTo(db, id, mostJobs),
  };
}

/** Endpoints as lists show how they fare: with their last 24 hours, and what failed last at those that are not well. */
export async function withFaring(db: Queryable, endpoints: readonly EndpointRow[]) {
  const unwell = endpoints.filter(({ health }) => health !== 'ok').map(({ id }) => id);
  const errors = new Map(
    (await queries.listLastErrors(db, unwell)).map(({ endpoint_id: id, ...error }) => [id, error]),
  );
  return (await withHours(db, endpoints, ({ id }) => id)).map((endpoint) => ({
    ...endpoint,
    last_error: errors.get(endpoint.id) ?? null,
  }));
}

/** How an answer begins, as text; null without one. */
function toldAnswer(response: Buffer | null): string | null {
  return response === null ? null : response.toString('utf8').slice(0, toldCharacters);
}

/** The newest failure among the dead letters, where none of the newest attempts failed. */
async function findLastFailure(
  db: Queryable,
  endpointId: string,
): Promise<EndpointStory['last_error']> {
  const scan = { after: null, descending: true, limit: 1, scanLimit: null };
  const found: DeliveryRow[] = [];
  for (const status of deadLetterStatuses) {
    const source = { orderedBy: 'last_attempt_at', status, tenants: null, endpointId } as const;
    found.push(...(await listRows(db, source, {}, scan)));
  }
  const times = found.map((row) => row.last_attempt_at ?? '');
  const newest = found[times.indexOf(times.toSorted().at(-1) ?? '')];
  if (newest === undefined) return null;
  const { id, last_attempt_at: at, failure_class, last_status: status, error } = newest;
  return {
    at: at ?? newest.created_at,
    delivery_id: id,
    failure_class,
    status,
    error,
    answer: null,
  };
}

/** The fastest `share` took no more than so many ms; null without any, or beyond the last bound. */
export function percentile(times: readonly number[], share: number): number | null {
  const all = times.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [at, count] of times.entries()) {
    seen += count;
    if (all > 0 && seen >= all * share) return answerBounds[at] ?? null;
  }
  return null;
}
