import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { ReplayPreview, ReplayRequest, ReplayRow } from '../contract.ts';
import { type EndpointCall, withLocked } from '../endpoints/change-endpoint.ts';
import { getEndpoint } from '../endpoints/endpoints.ts';
import type { EndpointRow } from '../endpoints/queries.ts';
import { findOrRefuse } from '../incidents/incidents.ts';
import type { WebhookOptions } from '../options.ts';
import { readMicros } from '../order/queries.ts';
import { findForgotten } from '../queries.ts';
import type { ReplaySelection } from '../values.ts';
import { type CountedReplay, countReplay } from './count-replay.ts';
import * as queries from './queries.ts';
import { getReplay } from './replays.ts';
import { notesOf } from './words.ts';

type ReplayCall = EndpointCall & { readonly body: ReplayRequest };
type Options = Pick<WebhookOptions, 'audit' | 'clock' | 'deliveryDays' | 'log' | 'maxAttempts'>;

/** What of the incidents each selection sends. One that was discarded was never got. */
export const statesOf: Readonly<Record<ReplaySelection, readonly queries.IncidentState[]>> = {
  missed: ['missed', 'discarded'],
  failed: ['failed'],
  delivered: ['delivered'],
  all: ['missed', 'discarded', 'failed', 'delivered'],
};

/**
 * Says what a replay would do: exactly, up to where the filter of the endpoint was asked, and where counting stopped.
 * Throws 400 `request_invalid`, 404 `endpoint_not_found`, `incident_not_found`.
 */
export async function previewReplay(
  db: Queryable,
  options: Options,
  { actor, body, params }: ReplayCall,
): Promise<ReplayPreview> {
  const endpoint = await getEndpoint(db, actor, params.id);
  return preview(db, options, { endpoint, body, scope: await toScope(db, endpoint, body) });
}

async function preview(
  db: Queryable,
  { deliveryDays: days, clock, log }: Options,
  asked: { endpoint: EndpointRow; body: ReplayRequest; scope: queries.ReplayScope },
): Promise<ReplayPreview> {
  const { endpoint, body, scope } = asked;
  const { only = 'missed' } = body;
  const hasFilter = endpoint.where !== null && !scope.ignoresFilters;
  const counted = await countReplay(db, scope, { days, hasFilter, clock, log });
  const { counts, costly, isUnreadable } = counted;
  const { filteredUntil: filtered_until, countedUntil: counted_until } = counted;
  const sum = (of: CountedReplay['counts']) =>
    statesOf[only].reduce((total, state) => total + of[state], 0);
  const count = sum(counts);
  const forgotten_before = await findForgotten(db, days, scope.from);
  const range = { since: scope.from, until: scope.until };
  const found = { ...range, count, ...counts, filtered_until, counted_until, forgotten_before };
  return {
    ...found,
    notes: notesOf(found, body, { ...endpoint, isUnreadable, costly: sum(costly) }),
  };
}

/**
 * Makes a replay, which a runner carries out. The endpoint is locked meanwhile, so of two that overlap one is refused.
 * Throws 400 `request_invalid`, 404 `endpoint_not_found`, `incident_not_found`, 409 `replay_overlaps`.
 */
export async function createReplay(
  db: Database,
  options: Options,
  call: ReplayCall,
): Promise<ReplayRow> {
  const { actor, body } = call;
  // It may take seconds to count, so that is done before the endpoint is locked.
  const endpoint = await getEndpoint(db, actor, call.params.id);
  const scope = await toScope(db, endpoint, body);
  const { count, counted_until } = await preview(db, options, { endpoint, body, scope });
  const id = newId('rpl');
  return withLocked(db, options, call, async (connection, _endpoint, note) => {
    const other = await queries.findOverlapping(connection, scope);
    if (other !== undefined) {
      throw new AppError('replay_overlaps', {
        detail: `${other} replays a part of this range to the endpoint, and has not ended. Wait for it, or cancel it: svcctl jobs cancel ${other}`,
      });
    }
    await queries.insertReplay(connection, {
      ...scope,
      id,
      selection: body.only ?? 'missed',
      keepsIds: body.ids === 'same',
      rate: body.rate ?? null,
      maxAttempts: options.maxAttempts,
      // A number that is too small would read as nearly done.
      rowsTotal: counted_until === null ? count : 0,
      createdBy: actor.name,
    });
    const job = await getReplay(connection, actor, id);
    await note('replay', { after: job });
    return job;
  });
}

/**
 * The incidents that a request means. Now is the database's, which dates what is reported: a wrong clock here would
 * pass over the last reports, or wait for its end. Throws 400 `request_invalid`, 404 `incident_not_found`.
 */
async function toScope(
  db: Queryable,
  { id: endpointId, tenant }: EndpointRow,
  request: ReplayRequest,
): Promise<queries.ReplayScope> {
  const { incident_id: incidentId = null, event_types: eventTypes = null, filters } = request;
  const own = { tenant, endpointId, incidentId, eventTypes, ignoresFilters: filters === 'ignore' };
  if (incidentId !== null) {
    for (const name of ['since', 'until'] as const) {
      if (request[name] !== undefined) throw invalidInput(`/${name}`, 'goes without incident_id');
    }
    const { created_at: from } = await findOrRefuse(db, { tenants: [tenant] }, incidentId);
    return { ...own, from, until: formatMicros(microsOf('', from) + 1) };
  }
  if (request.since === undefined) throw invalidInput('/since', 'is needed, or incident_id');
  const from = microsOf('/since', request.since);
  const now = await readMicros(db);
  const until = Math.min(
    now,
    request.until === undefined ? now : microsOf('/until', request.until),
  );
  if (from >= now) throw invalidInput('/since', 'lies in the future');
  if (from >= until) throw invalidInput('/until', 'does not lie after since');
  return { ...own, from: formatMicros(from), until: formatMicros(until) };
}

function microsOf(path: string, text: string): number {
  const micros = parseInstant(text);
  if (micros === null) throw invalidInput(path, 'must be an RFC 3339 time');
  return micros;
}
