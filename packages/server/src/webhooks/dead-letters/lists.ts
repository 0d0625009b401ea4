import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { cursorAfter, emptyPage, toKeyset } from '../../kernel/page.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { DeliveryRow, Waiting } from '../contract.ts';
import { findReach } from '../reach.ts';
import type { DeadLetterStatus, DeliveryStatus, FailureClass } from '../values.ts';
import type { RowKey } from './read-queries.ts';
import * as queries from './read-queries.ts';
import { deliveryNotFound, laneOrNotFound } from './retry.ts';
import { type WaitFacts, whySilent, whyStillDue, whyWaiting } from './waiting.ts';

const maxAttemptsShown = 100;

/**
 * One delivery in any status, with its payload, its attempts and the reason why it waits. Throws 404
 * `delivery_not_found`.
 */
export async function getDeadLetter(db: Queryable, actor: Actor, id: string) {
  const lane = laneOrNotFound(id);
  const row = await queries.findDelivery(db, lane, id);
  if (row === undefined || !mayTouchTenant(actor, row.tenant)) throw deliveryNotFound();
  const circumstances = await queries.findCircumstances(db, lane, id);
  if (circumstances === undefined) throw deliveryNotFound();
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
    waiting: await findWaiting(db, lane, circumstances),
  };
}

/**
 * Why a delivery is not delivered yet; null when it has ended. The drainers are asked for only where the answer depends
 * on them.
 */
async function findWaiting(db: Queryable, lane: number, facts: WaitFacts): Promise<Waiting | null> {
  const waiting = whyWaiting(facts);
  if (waiting === 'finished') return null;
  if (waiting !== 'ask_for_drainer' && waiting.reason !== 'in_flight') return waiting;
  const { answering, silent } = await queries.findDrainers(db, lane);
  if (silent !== null) return whySilent(silent, answering > 0);
  return waiting === 'ask_for_drainer' ? whyStillDue(facts, answering > 0) : waiting;
}

type DeadLetterRequest = {
  status: DeadLetterStatus;
  tenant?: string;
  endpoint_id?: string;
  failure_class?: FailureClass;
  q?: string;
  limit?: number;
  cursor?: string;
};

/**
 * One page of the dead-letter queue, the newest failure first. `total` is the number of rows on all pages; it is null
 * with `q`, since counting what matches would mean reading the whole queue. Throws 400 `cursor_invalid`.
 */
export async function listDeadLetters(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: DeadLetterRequest,
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
  request: { status: DeadLetterStatus; tenant?: string; endpoint_id?: string; limit?: number },
) {
  const reach = await findReach(db, actor, request);
  if (reach === null) return emptyPage();
  const filter = { statuses: [request.status], ...reach };
  const data = await queries.listGroups(db, request.status, filter, request.limit ?? 100);
  return { data, next_cursor: null };
}

type DeliveriesRequest = {
  status?: DeliveryStatus;
  tenant?: string;
  endpoint_id?: string;
  incident_id?: string;
  limit?: number;
  cursor?: string;
};

/** One page of the deliveries in every state, the newest first. Throws 400 `cursor_invalid`. */
export async function listDeliveries(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: DeliveriesRequest,
) {
  const { limit, cursor, ...filters } = request;
  const scope = { list: 'deliveries', filters };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset<RowKey>(page);
  const reach = await findReach(db, actor, filters);
  if (reach === null) return emptyPage();
  const source = { orderedBy: 'created_at', incidentId: filters.incident_id, ...reach } as const;
  const { shown, readOn } = await db.transaction(
    (connection) => readRows(connection, source, { status: filters.status }, keyset),
    { isolation: 'repeatable read' },
  );
  return { data: shown, next_cursor: cursorAfter(page, readOn) };
}

/** How many rows one page looks at, at most, for a filter that no index serves. */
const scanLimit = 10_000;

/**
 * The rows of a page, the newest first, and the key to read on from if there may be more. With a filter that no index
 * serves, the page may be short or empty although there is more. It needs a snapshot: a row that moves between its
 * statements would move the end of the scan.
 */
async function readRows(
  db: Queryable,
  source: queries.RowSource,
  sought: queries.Sought,
  keyset: { after: queries.RowKey | null; limit: number },
): Promise<{ shown: DeliveryRow[]; readOn: queries.RowKey | undefined }> {
  const limit = keyset.limit - 1;
  const scan = { ...keyset, descending: true };
  const cut = (found: DeliveryRow[]) => {
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const at = last?.[source.orderedBy];
    return {
      shown,
      readOn: found.length > limit && last && at ? ([at, last.id] as const) : undefined,
    };
  };
  if (Object.values(sought).every((value) => value === undefined)) {
    return cut(await queries.listRows(db, source, sought, { ...scan, scanLimit: null }));
  }
  const { shown, readOn } = cut(await queries.listRows(db, source, sought, { ...scan, scanLimit }));
  if (readOn !== undefined) return { shown, readOn };
  return { shown, readOn: await queries.findScanEnd(db, source, { ...scan, scanLimit }) };
}
