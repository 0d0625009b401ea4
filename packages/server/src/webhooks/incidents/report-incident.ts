import { createHash } from 'node:crypto';
import type { Static } from 'typebox';
import { type Actor, assertReach } from '../../kernel/actor.ts';
import { createBatcher } from '../../kernel/batcher.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import { isDeeper, refusalIn } from '../../kernel/json-slices.ts';
import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { refuseHiddenNames } from '../../platform/postgres/known-names.ts';
import type { ClaimedRow } from '../claim.ts';
import type { AcceptedDelivery, newIncidentSchema } from '../contract.ts';
import type { Catalogue } from '../event-types/catalogue.ts';
import type { WebhookOptions } from '../options.ts';
import { IncidentFilters } from './filters.ts';
import * as queries from './queries.ts';
import { listDeliveriesOfIncident } from './queries.ts';

type Request = Static<typeof newIncidentSchema>;
type Accepted = { id: string; deliveries: AcceptedDelivery[]; warnings?: string[] };

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
const mostTries = 10;

/**
 * Returns a function that stores an incident and one delivery for each endpoint of its tenant that wants its type. The
 * filters of these endpoints are applied before, outside the transaction. The deliveries of disabled endpoints wait until these are enabled. The same idempotency key gives the same answer again.
 * Reports that come while others are being stored are stored together. The call is not audited: it is the pipeline's
 * write, not an operator's, and the incident itself is the record of it. `dataSource` is `data` as the caller spelled
 * it; `requestId` and `traceParent` are kept with the incident, for the drainer's log and its traces.
 *
 * It throws 400 `request_invalid`, 409 `idempotency_conflict`, 413 `body_too_large`.
 */
export function createReportIncident(
  db: Queryable,
  options: Pick<WebhookOptions, 'clock' | 'maxAttempts' | 'maxPayloadBytes' | 'wakeUp'> & {
    readonly log: Pick<Log, 'warn'>;
    /** What the type and the data of a report are compared with. */
    readonly catalogue?: Pick<Catalogue, 'look'>;
  },
): ReportIncident {
  const { clock, maxAttempts, maxPayloadBytes, wakeUp } = options;
  const filters = new IncidentFilters(db, options);
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
    const { tenant, store = null, group = null, type, data } = request;
    assertReach(actor, tenant);
    await refuseHiddenNames(db, '/tenant', [{ tenant }]);
    const reportedAtMillis = clock();
    const occurredAt = toOccurredAt(request.occurred_at, reportedAtMillis);
    const payload = { type, timestamp: occurredAt, data };
    const body = payloadText(payload, maxPayloadBytes, dataSource);
    const key = toKey(request, dataSource);
    const warnings = (await options.catalogue?.look(request)) ?? [];
    const told = warnings.length === 0 ? {} : { warnings };
    const own = { id: newId('inc'), tenant, store, group, type, occurredAt, body };
    const incident = { ...own, ...origin, key };
    const filtered = { type, store, occurredAt, data: dataSource ?? JSON.stringify(data) };
    // Another try is needed when a key in use runs out between the two statements, or a filter was saved meanwhile.
    for (let attempt = 1; attempt <= mostTries; attempt++) {
      const judgement = await filters.judge(incident, filtered);
      const item = { ...incident, reportedAtMillis, endpointId: null, judgement };
      const { stored } = await batcher.run(item);
      if (stored?.is_unjudged) {
        await filters.reload(tenant);
        continue;
      }
      if (stored !== null) return { id: stored.id, deliveries: stored.deliveries, ...told };
      const earlier = key === null ? undefined : await findEarlier(db, request, key);
      if (earlier !== undefined) return { ...earlier, ...told };
    }
    throw new Error(
      'an idempotency key is in use and is not there, or filters change all the time',
    );
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
  const deliveries = await listDeliveriesOfIncident(db, earlier.incident_id, { onlyFirst: true });
  return {
    id: earlier.incident_id,
    // The deliveries are shown as they were when accepted, so that the answer is the same whatever has become of them, and
    // without those that replays have made since.
    deliveries: deliveries.map((delivery) => ({ ...delivery, status: 'queued' })),
  };
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

/** The parts of a report that make two reports under one idempotency key the same. */
export type IncidentReport = {
  tenant: string;
  store?: string;
  group?: string;
  type: string;
  occurred_at?: string;
  data: unknown;
};

/**
 * The byte in front of the hash. Up to version 0.1.0 there was none, and the hash was made of `data` as JSON.parse
 * reads it.
 */
const version = Buffer.of(2);
const hashBytes = 32;

/**
 * The digest of a report: a version byte and a SHA-256 of its content. The order of keys does not matter, as in JSON
 * itself: a caller that builds its body anew for a second try may get another order. Times and numbers count as they
 * are spelled, because receivers get them so; JSON.parse would take 9007199254740993 for …992. `source` is `data` as
 * JSON text without white space between its tokens.
 */
export function requestDigest(
  report: IncidentReport,
  source = JSON.stringify(report.data),
): Buffer {
  return Buffer.concat([version, hashOf(report, canonicalSource(source))]);
}

/**
 * Whether a report is the one whose digest is stored under the key. The stored digest may be of an older version, which
 * is told by its length. That of an incident that was erased is empty: its key gives the same answer to any report.
 */
export function isSameRequest(stored: Buffer, digest: Buffer, report: IncidentReport): boolean {
  return (
    stored.length === 0 ||
    stored.equals(stored.length === hashBytes ? hashOf(report, canonicalJson(report.data)) : digest)
  );
}

function hashOf(report: IncidentReport, data: string): Buffer {
  const { tenant, store = null, type, occurred_at = null, group } = report;
  // A report without a group has the digest that it had before there were any.
  const head = JSON.stringify([tenant, store, type, occurred_at, ...(group ? [group] : [])]);
  return createHash('sha256').update(head).update(data).digest();
}

/**
 * Rewrites JSON with the keys of objects in the order of their UTF-16 units and each string in one spelling. Numbers
 * stay as they are, and a key that occurs twice stays twice, in its order. The source has been parsed before, so its
 * syntax is right.
 */
function canonicalSource(source: string): string {
  let position = 0;
  const readString = () => {
    const start = position;
    position += 1;
    while (source[position] !== '"') position += source[position] === '\\' ? 2 : 1;
    position += 1;
    const spelled = source.slice(start, position);
    return spelled.includes('\\') ? JSON.stringify(JSON.parse(spelled)) : spelled;
  };
  /** Reads everything between two brackets, one item at a time, with the commas and the closing bracket. */
  const readAll = <T>(readOne: () => T): T[] => {
    const all: T[] = [];
    position += 1;
    while (source[position] !== ']' && source[position] !== '}') {
      all.push(readOne());
      if (source[position] === ',') position += 1;
    }
    position += 1;
    return all;
  };
  const readMemberOf = (): [string, string] => {
    const key = readString();
    position += 1;
    return [key, readValue()];
  };
  const readValue = (): string => {
    const first = source[position];
    if (first === '"') return readString();
    if (first === '[') return `[${readAll(readValue).join()}]`;
    if (first === '{') {
      const members = readAll(readMemberOf).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      return `{${members.map(([key, value]) => `${key}:${value}`).join()}}`;
    }
    const start = position;
    while (position < source.length && !',]}'.includes(source[position] ?? '')) position += 1;
    return source.slice(start, position);
  };
  return readValue();
}

/**
 * A value as JSON without white space and with the keys in the order of their UTF-16 units, as in RFC 8785. Only for
 * digests of the old version.
 */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join()}}`;
}

/** The JSON object that receivers get. */
export type Payload = { type: string; timestamp: string; data: unknown };

/**
 * How deep `data` may be nested. Receivers' own parsers give up at about a thousand levels, and JSON.stringify at some
 * thousands.
 */
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
