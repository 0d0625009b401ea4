import type { Static } from 'typebox';
import { type Actor, assertReach, mayTouchTenant } from '../../kernel/actor.ts';
import { createBatcher } from '../../kernel/batcher.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import { isDeeper, refusalIn } from '../../kernel/json-slices.ts';
import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { refuseHiddenNames } from '../../platform/postgres/known-names.ts';
import type { ClaimedRow } from '../claim.ts';
import type { AcceptedDelivery, acceptedIncidentSchema, newIncidentSchema } from '../contract.ts';
import type { Catalogue } from '../event-types/catalogue.ts';
import { listHeldBack } from '../hold-back-queries.ts';
import type { WebhookOptions } from '../options.ts';
import type { Filtered } from '../subscription.ts';
import { IncidentFilters } from './filters.ts';
import {
  findIncidentKey,
  insertIncidents,
  type NewIncident,
  type StoredIncident,
} from './insert-queries.ts';
import { listDeliveriesOfIncident } from './queries.ts';
import { requestDigest } from './report-digest.ts';

type Request = Static<typeof newIncidentSchema>;
type Accepted = Static<typeof acceptedIncidentSchema>;

export type Report = {
  request: Request;
  /** `data` as the caller spelled it. */
  dataSource: string | undefined;
  requestId: string;
  traceParent: string | null;
};

type ReportIncident = (actor: Actor, report: Report) => Promise<Accepted>;

/** What became of one report of many: it is refused, or accepted, now or before under the same key. */
export type ReportOutcome =
  | { refusal: Pick<AppError, 'detail'> & { readonly code: string } }
  | {
      refusal: null;
      isRepeated: boolean;
      deliveries: number;
      heldBack: number;
      warnings: readonly string[];
    };

type Options = Pick<WebhookOptions, 'clock' | 'maxAttempts' | 'maxPayloadBytes' | 'wakeUp'> & {
  readonly log: Pick<Log, 'warn'>;
  readonly catalogue?: Pick<Catalogue, 'look'>;
};

/** Reports that are stored together have at most as many bytes as this many payloads of 1 KiB. */
const mostTogether = 1000;
const mostTries = 10;

/**
 * Returns functions that store incidents and one delivery of each for each endpoint of its tenant that wants it;
 * filters are applied before, outside the transaction. The same idempotency key gives the same answer again. It is not
 * audited: the incident is the record of it. `requestId` and `traceParent` are kept for the drainer's log and traces.
 *
 * `one` stores reports that come meanwhile together. It throws 400 `request_invalid`, 409 `idempotency_conflict`, 413
 * `body_too_large`. `all` stores many in their order, by one statement; what is wrong with one is its outcome.
 */
export function createReportIncident(
  db: Queryable,
  options: Options,
): {
  one: ReportIncident;
  all: (actor: Actor, reports: readonly Report[]) => Promise<ReportOutcome[]>;
} {
  const { prepare, judge, settle } = createSteps(db, options);
  const store = createStore(db, options);
  const batcher = createBatcher<NewIncident, { stored: Stored }>({
    alone: async (incident) => ({ stored: (await store([incident]))[0] ?? null }),
    async together(incidents) {
      const stored = await storeFirsts(store, incidents);
      return stored.map((own) => (own === null ? null : { stored: own }));
    },
    weigh: ({ body }) => 1 + body.length / 1024,
    mostWeight: mostTogether,
  });

  return {
    async one(actor, report) {
      const prepared = await prepare(actor, report);
      const { warnings } = prepared;
      const told = warnings.length === 0 ? {} : { warnings: [...warnings] };
      for (let attempt = 1; attempt <= mostTries; attempt++) {
        const { check } = actor;
        const { stored } = await batcher.run({
          ...(await judge(prepared)),
          ...(check && { check }),
        });
        if (check !== undefined) check.isMade = true;
        const settled = await settle(prepared, stored);
        if (settled === undefined) continue;
        const { id, made } = settled;
        const deliveries = made?.deliveries ?? (await listFirstDeliveries(db, id));
        const heldBack = made?.held_back ?? (await listHeldBack(db, id));
        return { id, deliveries, ...(heldBack.length > 0 && { held_back: heldBack }), ...told };
      }
      throw neverSettled();
    },

    async all(actor, reports) {
      const outcomes: ReportOutcome[] = [];
      let open: [index: number, Prepared][] = [];
      const prepared = await Promise.all(
        reports.map(async (report) =>
          mayTouchTenant(actor, report.request.tenant)
            ? prepare(actor, report).catch(toRefusal)
            : { refusal: outOfReach },
        ),
      );
      for (const [index, one] of prepared.entries()) {
        if ('refusal' in one) outcomes[index] = one;
        else open.push([index, one]);
      }
      for (let attempt = 1; open.length > 0; attempt++) {
        if (attempt > mostTries) throw neverSettled();
        const judged = await Promise.all(open.map(([, one]) => judge(one)));
        const stored = await storeFirsts(store, judged);
        const settled = await Promise.all(
          open.map(([, one], place) => settle(one, stored[place] ?? null).catch(toRefusal)),
        );
        open = open.filter(([index, { warnings }], place) => {
          const end = settled[place];
          if (end === undefined) return true;
          outcomes[index] = 'refusal' in end ? end : { ...acceptedOf(end), warnings };
          return false;
        });
      }
      return outcomes;
    },
  };
}

type Prepared = {
  readonly incident: Omit<NewIncident, 'judgement'>;
  readonly filtered: Filtered;
  readonly warnings: readonly string[];
};

/** What is done with each report before and after it is stored. */
function createSteps(db: Queryable, options: Options) {
  const filters = new IncidentFilters(db, options);
  const prepare = async (
    actor: Actor,
    { request, dataSource, ...origin }: Report,
  ): Promise<Prepared> => {
    const { tenant, store = null, group = null, type, data } = request;
    assertReach(actor, tenant);
    await refuseHiddenNames(db, '/tenant', [{ tenant }]);
    const reportedAtMillis = options.clock();
    const occurredAt = toOccurredAt(request.occurred_at, reportedAtMillis);
    const payload = { type, timestamp: occurredAt, data };
    const body = payloadText(payload, options.maxPayloadBytes, dataSource);
    const key = toKey(request, dataSource);
    const warnings = (await options.catalogue?.look(request)) ?? [];
    const own = { id: newId('inc'), tenant, store, group, type, occurredAt, body };
    const incident = { ...own, ...origin, key, reportedAtMillis, endpointId: null };
    const filtered = { type, store, occurredAt, data: dataSource ?? JSON.stringify(data) };
    return { incident, filtered, warnings };
  };
  const judge = async ({ incident, filtered }: Prepared) => ({
    ...incident,
    judgement: await filters.judge(incident, filtered),
  });
  /** The incident that a report is now, and what was made with it; undefined when it has to be tried again. */
  const settle = async (
    { incident: { tenant, key } }: Prepared,
    stored: Stored,
  ): Promise<Settled | undefined> => {
    // A filter was saved meanwhile.
    if (stored?.is_unjudged) await filters.reload(tenant);
    else if (stored !== null) return { id: stored.id, made: stored };
    else if (key !== null) {
      // It is not there when it ran out between the two statements.
      const id = await findEarlier(db, tenant, key);
      if (id !== undefined) return { id, made: null };
    }
    return undefined;
  };
  return { prepare, judge, settle };
}

const outOfReach = {
  code: 'tenant_not_allowed',
  detail: 'this token may not report incidents of this tenant',
} as const;

type Settled = { id: string; made: Pick<StoredIncident, 'deliveries' | 'held_back'> | null };

const acceptedOf = ({ made }: Settled) =>
  ({
    refusal: null,
    isRepeated: made === null,
    deliveries: made?.deliveries.length ?? 0,
    heldBack: made?.held_back.length ?? 0,
  }) as const;

type Stored = StoredIncident | null;
type Store = (incidents: readonly NewIncident[]) => Promise<Stored[]>;

/** Returns what stores incidents by one statement. The result is what was stored of each; null when its key is in use. */
function createStore(
  db: Queryable,
  { wakeUp, maxAttempts }: Pick<WebhookOptions, 'maxAttempts' | 'wakeUp'>,
): Store {
  return async (incidents) => {
    if (incidents.length === 0) return [];
    const headStart = wakeUp.headStart(countByTenant(incidents));
    let claimed: ClaimedRow[] = [];
    try {
      const stored = await insertIncidents(db, incidents, maxAttempts, headStart);
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
}

/** Stores several of which some may have the same key: the first of these counts. */
async function storeFirsts(store: Store, incidents: readonly NewIncident[]): Promise<Stored[]> {
  const firsts = firstOfEachKey(incidents);
  const stored = await store(firsts);
  return incidents.map((incident) => stored[firsts.indexOf(incident)] ?? null);
}

/** An error that is the fault of a single report; any other is thrown. */
function toRefusal(error: unknown): { refusal: AppError } {
  if (error instanceof AppError && error.status < 500 && error.status !== 429) {
    return { refusal: error };
  }
  throw error;
}

const neverSettled = () =>
  new Error('an idempotency key is in use and is not there, or filters change all the time');

function countByTenant(incidents: readonly NewIncident[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { tenant } of incidents) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  return counts;
}

/** The deliveries of an incident that were claimed as they were stored, as a claim would have found them. */
function claimedRows(
  { id, tenant, body, requestId, traceParent }: NewIncident,
  stored: StoredIncident | undefined,
): ClaimedRow[] {
  const { claimed = [], config_versions: versions } = stored ?? {};
  const origin = { request_id: requestId, trace_parent: traceParent };
  const own = { incident_id: id, ...origin, tenant, body, waited_ms: 0, is_fresh: true };
  const made = {
    ...own,
    status: 'queued',
    failure_class: null,
    replay_of: null,
    order_key: null,
  } as const;
  return claimed.map((row) => {
    const version = versions?.[row.endpoint_id] ?? 0;
    return {
      ...row,
      ...made,
      config_version: version,
      attempts: 0,
      schedule_from: 0,
      age_seconds: 0,
      throttled_seconds: null,
    };
  });
}

function firstOfEachKey(incidents: readonly NewIncident[]): NewIncident[] {
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

/** The incident that has this key; undefined when it has run out. Throws 409 `idempotency_conflict`. */
async function findEarlier(
  db: Queryable,
  tenant: string,
  key: { text: string; digest: Buffer },
): Promise<string | undefined> {
  const earlier = await findIncidentKey(db, tenant, key.text);
  // That of an erased incident is empty, and fits any report.
  const isSame = earlier?.digest.length === 0 || earlier?.digest.equals(key.digest);
  if (earlier === undefined || isSame) return earlier?.incident_id;
  throw new AppError('idempotency_conflict', {
    detail:
      'This idempotency_key was used with another body. Send what differs under a key of its own.',
  });
}

/** The deliveries of an incident as they were when it was accepted: the answer is the same whatever became of them. */
async function listFirstDeliveries(db: Queryable, id: string): Promise<AcceptedDelivery[]> {
  const deliveries = await listDeliveriesOfIncident(db, id, { onlyFirst: true });
  return deliveries.map((delivery) => ({ ...delivery, status: 'queued' }));
}

/** Throws 400 `request_invalid` at the path of a time that is none. */
export function toOccurredAt(
  given: string | undefined,
  nowMillis: number,
  path = '/occurred_at',
): string {
  const micros = given === undefined ? nowMillis * 1000 : parseInstant(given);
  if (micros !== null) return formatMicros(micros);
  throw invalidInput(
    path,
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

export type Payload = { type: string; timestamp: string; data: unknown };

/** How deep `data` may be nested. Receivers' own parsers give up at about a thousand levels. */
const maxDepth = 500;

/**
 * The body of every delivery of an incident, as JSON text. `source` is the data as the caller spelled it, so that
 * numbers keep their digits. Throws 400 `request_invalid` when the data is nested too deeply, or has U+0000, half a
 * surrogate pair or a key twice, which its readers take in different ways; 413 `body_too_large`.
 */
export function payloadText(payload: Payload, maxBytes: number, source?: string): string {
  if (isDeeper(payload.data, maxDepth)) {
    throw invalidInput('/data', `is nested more than ${maxDepth} levels deep`);
  }
  const fault = source === undefined ? null : refusalIn(source, maxDepth);
  if (fault !== null) throw invalidInput('/data', fault.message);
  const { type, timestamp, data } = payload;
  const head = JSON.stringify({ type, timestamp });
  const text = `${head.slice(0, -1)},"data":${source ?? JSON.stringify(data)}}`;
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > maxBytes) {
    throw new AppError('body_too_large', {
      detail: `The payload {"type","timestamp","data"} has ${sizeBytes} bytes of ${maxBytes} allowed. Send less data, or a link to it.`,
    });
  }
  return text;
}
