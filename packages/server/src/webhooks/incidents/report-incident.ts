import type { Static } from 'typebox';
import { type Actor, assertReach } from '../../kernel/actor.ts';
import { createBatcher } from '../../kernel/batcher.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { refuseHiddenNames } from '../../platform/postgres/known-names.ts';
import type { ClaimedRow } from '../claim.ts';
import type { AcceptedDelivery, newIncidentSchema } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { isSameRequest, payloadText, requestDigest } from './payload.ts';
import * as queries from './queries.ts';
import { listDeliveriesOfIncident } from './read-queries.ts';

type Request = Static<typeof newIncidentSchema>;
type Accepted = { id: string; deliveries: AcceptedDelivery[] };

export type ReportIncident = (
  actor: Actor,
  report: {
    request: Request;
    dataSource: string | undefined;
    requestId: string;
    traceParent: string | null;
  },
) => Promise<Accepted>;

/** Reports that are stored together have at most as many bytes as this many payloads of 1 KiB. */
const mostTogether = 1000;

/**
 * Returns a function that stores an incident and one delivery for each endpoint of its tenant that wants its type. The
 * deliveries of disabled endpoints wait until these are enabled. The same idempotency key gives the same answer again.
 * Reports that come while others are being stored are stored together. The call is not audited: it is the pipeline's
 * write, not an operator's, and the incident itself is the record of it. `dataSource` is `data` as the caller spelled
 * it; `requestId` and `traceParent` are kept with the incident, for the drainer's log and its traces.
 *
 * It throws 400 `request_invalid`, 409 `idempotency_conflict`, 413 `body_too_large`.
 */
export function createReportIncident(
  db: Queryable,
  options: Pick<WebhookOptions, 'clock' | 'maxAttempts' | 'maxPayloadBytes' | 'wakeUp'>,
): ReportIncident {
  const { clock, maxAttempts, maxPayloadBytes, wakeUp } = options;
  /** The result is what was stored of each; null when its key is in use. */
  const store = async (incidents: readonly queries.NewIncident[]) => {
    const headStart = wakeUp.headStart(countByTenant(incidents));
    let claimed: ClaimedRow[] = [];
    try {
      const stored = await queries.insertIncidents(db, incidents, maxAttempts, headStart);
      wakeUp.wake(
        stored.flatMap(({ due }) => due),
        'fresh',
      );
      const byId = new Map(stored.map((one) => [one.id, one]));
      claimed = incidents.flatMap((one) => claimedRows(one, byId.get(one.id)));
      return incidents.map(({ id }) => byId.get(id) ?? null);
    } finally {
      headStart?.begin(claimed);
    }
  };
  const batcher = createBatcher<queries.NewIncident, { stored: queries.StoredIncident | null }>({
    alone: async (incident) => ({ stored: (await store([incident]))[0] ?? null }),
    async together(incidents) {
      const firsts = firstOfEachKey(incidents);
      const stored = await store(firsts);
      return incidents.map((incident) => {
        const own = stored[firsts.indexOf(incident)] ?? null;
        return own === null ? null : { stored: own };
      });
    },
    weigh: ({ body }) => 1 + body.length / 1024,
    mostWeight: mostTogether,
  });

  return async (actor, { request, dataSource, ...origin }) => {
    const { tenant, store = null, type, data } = request;
    assertReach(actor, tenant);
    await refuseHiddenNames(db, '/tenant', [{ tenant }]);
    const reportedAtMillis = clock();
    const occurredAt = toOccurredAt(request.occurred_at, reportedAtMillis);
    const payload = { type, timestamp: occurredAt, data };
    const body = payloadText(payload, maxPayloadBytes, dataSource);
    const key = toKey(request, dataSource);
    const incident = { id: newId('inc'), tenant, store, type, occurredAt, body, ...origin, key };
    // A second try is needed when a key in use runs out between the two statements.
    for (let attempt = 1; attempt <= 2; attempt++) {
      const { stored } = await batcher.run({ ...incident, reportedAtMillis, endpointId: null });
      if (stored !== null) return { id: stored.id, deliveries: stored.deliveries };
      const earlier = key === null ? undefined : await findEarlier(db, request, key);
      if (earlier !== undefined) return earlier;
    }
    throw new Error('an idempotency key is in use and is not there');
  };
}

function countByTenant(incidents: readonly queries.NewIncident[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { tenant } of incidents) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  return counts;
}

/** The deliveries of an incident that were claimed as they were stored, as a claim would have found them. */
function claimedRows(
  { id, tenant, body, requestId, traceParent }: queries.NewIncident,
  stored: queries.StoredIncident | undefined,
): ClaimedRow[] {
  const { claimed = [], config_versions: versions } = stored ?? {};
  const origin = { request_id: requestId, trace_parent: traceParent };
  const own = { incident_id: id, ...origin, tenant, body, waited_ms: 0, is_fresh: true };
  const made = { ...own, status: 'queued', failure_class: null } as const;
  return claimed.map((row) => {
    const version = versions?.[row.endpoint_id] ?? 0;
    return {
      ...row,
      ...made,
      config_version: version,
      attempts: 0,
      schedule_from: 0,
      throttled_seconds: null,
    };
  });
}

/** Leaves out those whose key came before. */
function firstOfEachKey(incidents: readonly queries.NewIncident[]): queries.NewIncident[] {
  const seen = new Set<string>();
  return incidents.filter(({ tenant, key }) => {
    if (key === null) return true;
    // Names hold no "/".
    const name = `${tenant}/${key.text}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

/**
 * The answer that was given to this key before; undefined when the key has run out. Throws 409 `idempotency_conflict`.
 */
async function findEarlier(
  db: Queryable,
  request: Request,
  key: { text: string; digest: Buffer },
): Promise<Accepted | undefined> {
  const earlier = await queries.findIncidentKey(db, request.tenant, key.text);
  if (earlier === undefined) return undefined;
  if (!isSameRequest(earlier.digest, key.digest, request)) {
    throw new AppError('idempotency_conflict', {
      detail:
        'This idempotency_key was used with another body. Send what differs under a key of its own.',
    });
  }
  const deliveries = await listDeliveriesOfIncident(db, earlier.incident_id);
  return {
    id: earlier.incident_id,
    // The deliveries are shown as they were when accepted, so that the answer is the same whatever has become of them.
    deliveries: deliveries.map((delivery) => ({ ...delivery, status: 'queued' })),
  };
}

function toOccurredAt(given: string | undefined, nowMillis: number): string {
  const micros = given === undefined ? nowMillis * 1000 : parseInstant(given);
  if (micros !== null) return formatMicros(micros);
  throw invalidInput(
    '/occurred_at',
    'must be an RFC 3339 time with at most six fraction digits, before 2255',
  );
}

function toKey(
  request: Request,
  dataSource: string | undefined,
): { text: string; digest: Buffer } | null {
  const text = request.idempotency_key;
  return text === undefined ? null : { text, digest: requestDigest(request, dataSource) };
}
