import type { Static } from 'typebox';
import { type Actor, mayTouchTenant, shownName } from '../../kernel/actor.ts';
import { invalidInput } from '../../kernel/errors.ts';
import { cursorAfter, emptyPage, toKeyset } from '../../kernel/page.ts';
import { readTimeRange } from '../../kernel/time-range.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { Waiting, webhooksContract } from '../contract.ts';
import { foundNothing, namedBy, searchKindOf, soughtText } from '../find.ts';
import { withHours } from '../hours.ts';
import { findReach } from '../reach.ts';
import { scanPage } from '../scan.ts';
import { deadLetterStatuses } from '../values.ts';
import { statusOf } from './outcome-queries.ts';
import * as queries from './read-queries.ts';
import { deliveryNotFound, laneOrNotFound } from './retry.ts';
import { type WaitFacts, whySilent, whyStillDue, whyWaiting } from './waiting.ts';

const maxAttemptsShown = 100;

/** One delivery in any status, and why it waits. Throws 404 `delivery_not_found`. */
export async function getDeadLetter(db: Queryable, actor: Actor, id: string) {
  const lane = laneOrNotFound(id);
  const row = await queries.findDelivery(db, lane, id);
  if (row === undefined || !mayTouchTenant(actor, row.tenant)) throw deliveryNotFound();
  const circumstances = await queries.findCircumstances(db, lane, id);
  if (circumstances === undefined) throw deliveryNotFound();
  const { disabled_by: by } = circumstances;
  const attempts = await queries.listAttempts(db, lane, id, maxAttemptsShown);
  return {
    ...row,
    payload: JSON.parse(circumstances.body),
    body: circumstances.body,
    payload_erased_at: circumstances.payload_erased_at,
    request_id: circumstances.request_id,
    attempt_log: attempts.map((attempt) => ({
      ...attempt,
      response: attempt.response === null ? null : attempt.response.toString('utf8'),
    })),
    waiting: await findWaiting(db, lane, {
      ...circumstances,
      disabled_by: by && shownName(actor, by),
    }),
  };
}

/** Why a delivery is not delivered yet; null when it has ended. Drainers are asked for only where it matters. */
async function findWaiting(db: Queryable, lane: number, facts: WaitFacts): Promise<Waiting | null> {
  const waiting = whyWaiting(facts);
  if (waiting === 'finished') return null;
  if (waiting !== 'ask_for_drainer' && waiting.reason !== 'in_flight') return waiting;
  const { answering, silent } = await queries.findDrainers(db, lane);
  if (silent !== null) return whySilent(silent, answering > 0);
  return waiting === 'ask_for_drainer' ? whyStillDue(facts, answering > 0) : waiting;
}

type QueryOf<Id extends 'listDeadLetters' | 'listDeadLetterGroups' | 'listDeliveries'> = Static<
  (typeof webhooksContract)[Id]['query']
>;

/** One page of the queue, the newest failure first; no `total` with `q`. Throws 400 `cursor_invalid`. */
export async function listDeadLetters(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: QueryOf<'listDeadLetters'>,
) {
  const { limit = 200, cursor, ...filters } = request;
  const scope = { list: 'dead-letters', filters };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset<queries.RowKey>(page);
  const reach = await findReach(db, actor, filters);
  const { status, failure_class: failureClass, q } = filters;
  if (reach === null) return { ...emptyPage(), total: q === undefined ? 0 : null };

  // Of one snapshot: no page has more rows than their total.
  return db.transaction(
    async (connection) => {
      const { shown, readOn } = await readRows(
        connection,
        { orderedBy: 'last_attempt_at', status, ...reach },
        { failureClass, q },
        keyset,
      );
      const counted = { statuses: [status], ...reach, failureClass };
      return {
        data: shown,
        next_cursor: cursorAfter(page, readOn),
        total: q === undefined ? await queries.sumCounts(connection, counted) : null,
      };
    },
    { isolation: 'repeatable read' },
  );
}

/** The dead-letter queue by endpoint and failure class, the largest group first. There is only one page. */
export async function listDeadLetterGroups(
  db: Queryable,
  actor: Actor,
  request: QueryOf<'listDeadLetterGroups'>,
) {
  const reach = await findReach(db, actor, request);
  if (reach === null) return emptyPage();
  const filter = { statuses: [request.status], ...reach };
  const data = await queries.listGroups(db, request.status, filter, request.limit ?? 100);
  const isPlain = request.include === undefined;
  return { data: isPlain ? data : await withHours(db, data, endpointOf), next_cursor: null };
}

/** One page of the deliveries in every state, the newest first. Throws 400 `cursor_invalid`. */
export async function listDeliveries(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: QueryOf<'listDeliveries'>,
) {
  const { limit, cursor, ...filters } = request;
  const scope = { list: 'deliveries', filters };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset<queries.RowKey>(page);
  const { status, failure_class: failureClass, last_status: code, type, text } = filters;
  const { job_id: jobId, outcome } = filters;
  const times = readTimeRange(filters);
  if (outcome !== undefined && jobId === undefined) {
    throw invalidInput('?outcome', 'needs job_id beside it');
  }
  const named = namedBy(filters);
  const reach =
    named && (await findReach(db, actor, { ...filters, endpoint_id: named.endpointId }));
  if (named === null || reach === null) return { ...emptyPage(), ...foundNothing };
  const { incidentId, deliveryId, otherId } = named;
  const became = outcome && statusOf(outcome);
  const source = {
    orderedBy: 'created_at',
    incidentId,
    deliveryId,
    jobId,
    status: queries.isReplay(jobId) ? (status ?? became) : undefined,
    ...times,
    ...reach,
  } as const;
  const sought = {
    status: source.status === undefined ? status : undefined,
    failureClass,
    code,
    type,
    otherId,
    // An index finds what has one outcome by its status.
    outcome: source.status === became && became !== 'queued' ? undefined : outcome,
    text: soughtText(text, actor),
  };
  // Dead letters are counted; whatever else is asked for would have to be read to be counted.
  const isCounted = Object.keys(filters).every((name) => countedFilters.has(name));
  const dead = deadLetterStatuses.find((each) => each === status);
  return db.transaction(
    async (connection) => {
      const { shown, readOn, searchedTo } = await readRows(connection, source, sought, keyset);
      const isWhole = cursor === undefined && readOn === undefined;
      const total =
        dead !== undefined && isCounted
          ? await queries.sumCounts(connection, { statuses: [dead], ...reach, failureClass })
          : null;
      return {
        data: shown,
        next_cursor: cursorAfter(page, readOn),
        total: isWhole ? shown.length : total,
        searched_to: searchedTo?.[0] ?? null,
      };
    },
    { isolation: 'repeatable read' },
  );
}

/** The filters by which dead letters are counted. */
const countedFilters: ReadonlySet<string> = new Set([
  ...['status', 'tenant', 'endpoint_id', 'failure_class'],
]);

const endpointOf = (row: { endpoint_id: string }) => row.endpoint_id;

/** The rows of a page, the newest first, and the key to read on from if there may be more. It needs a snapshot. */
function readRows(
  db: Queryable,
  source: queries.RowSource,
  sought: queries.Sought,
  keyset: { after: queries.RowKey | null; limit: number },
) {
  return scanPage(keyset, searchKindOf(sought), {
    read: (scan) => queries.listRows(db, source, sought, { ...scan, descending: true }),
    findEnd: (scan) => queries.findScanEnd(db, source, { ...scan, descending: true }),
    keyOf: (row): queries.RowKey => [row[source.orderedBy] ?? '', row.id],
  });
}
