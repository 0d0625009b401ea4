import type { Static } from 'typebox';
import { runEventTypes } from '../../exports/values.ts';
import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { maskUrl } from '../../kernel/mask-url.ts';
import { nearestOf } from '../../kernel/nearest.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { AuditEntry } from '../../platform/audit.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { CatalogueType, webhooksContract } from '../contract.ts';
import { mostTypes } from '../event-types/catalogue.ts';
import { listTypes } from '../event-types/queries.ts';
import { isPattern } from '../subscription.ts';
import * as queries from './queries.ts';
import { readStory, withFaring } from './story.ts';

/** Who makes a change and by which request, for the audit log. */
export type Caller = Pick<AuditEntry, 'actor' | 'request'>;

/** One page of endpoints, by tenant and id, or before that by their health. Throws 400 `cursor_invalid`. */
export async function listEndpoints(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: Static<typeof webhooksContract.listEndpoints.query>,
) {
  const { limit, cursor, tenant, health, q, order } = request;
  const filters = { tenant, health, q, order };
  const page = { cursorKey, scope: { list: 'endpoints', filters }, limit, cursor };
  const rows = await queries.listEndpoints(
    db,
    { ...filters, reach: actor.tenants },
    toKeyset(page),
  );
  const { data, next_cursor } = toPage(page, rows, queries.keyOf(order));
  const shown = data.map(toListed);
  return { data: request.include === undefined ? shown : await withFaring(db, shown), next_cursor };
}

/** The endpoint with this id, and how it fared if that is asked for. Throws 404 `endpoint_not_found`. */
export async function getEndpoint(
  db: Queryable,
  actor: Actor,
  id: string,
  { include }: { include?: 'story' } = {},
) {
  const endpoint = found(await queries.findEndpoint(db, toEndpointId(id), actor.tenants));
  if (include === undefined) return endpoint;
  return { ...endpoint, story: await readStory(db, actor.tenants, id) };
}

export function toListed(row: queries.EndpointRow): queries.EndpointRow {
  return { ...row, url: maskUrl(row.url) };
}

/** The id, if it has the form of an endpoint's id. Throws 404 `endpoint_not_found` as for one that is unknown. */
export function toEndpointId(id: string): string {
  return /^ep_[0-9A-Za-z]{16}$/.test(id) ? id : found<string>(undefined);
}

/** Returns the row. Throws 404 `endpoint_not_found` without one: unknown, deleted and out of reach look the same. */
export function found<T>(row: T | undefined): T {
  if (row !== undefined) return row;
  throw new AppError('endpoint_not_found', {
    detail:
      'There is no such webhook endpoint, or it is deleted. svcctl endpoints ls and GET /webhook/endpoints list them.',
  });
}

/** Throws 409 `endpoint_uid_taken` when another endpoint of the tenant has this uid. */
export async function refuseNamesake(
  db: Queryable,
  { id, tenant, uid }: { id: string; tenant: string; uid: string | null },
): Promise<void> {
  const other = uid === null ? undefined : await queries.findNamesake(db, { id, tenant, uid });
  if (other === undefined) return;
  throw new AppError('endpoint_uid_taken', {
    detail: `${other} of ${tenant} has the uid ${uid} already. Choose another one.`,
  });
}

/** The types that every service knows. Others are allowed; one that was mistyped would never get anything. */
const namedTypes = ['incident.created', 'incident.updated', 'incident.resolved'];

/** What is allowed of an endpoint and yet seldom meant, one sentence each. */
export async function findWarnings(
  db: Queryable,
  endpoint: { id: string; tenant: string; url: string; event_types: readonly string[] },
): Promise<string[]> {
  const catalogue = await listTypes(db, { after: null, limit: mostTypes });
  const twin = await queries.findTwin(db, endpoint);
  return [
    ...typeWarnings(endpoint.event_types, catalogue),
    ...(twin === undefined
      ? []
      : [
          `${twin} of the same tenant has the same URL: what both want is delivered there twice, under two webhook-ids.`,
        ]),
  ];
}

/** What an endpoint wants that nobody may ever report, or not for long. */
function typeWarnings(
  wanted: readonly string[],
  catalogue: readonly Pick<CatalogueType, 'type' | 'deprecated'>[],
): string[] {
  const known = [...namedTypes, ...runEventTypes, ...catalogue.map(({ type }) => type)];
  const isKnown = (type: string) =>
    type === '*' ||
    (isPattern(type)
      ? known.some((one) => one.startsWith(type.slice(0, -1)))
      : known.includes(type));
  const told = wanted
    .filter((type) => !isKnown(type))
    .map((type) => {
      const near = nearestOf(type, known);
      return near === undefined ? type : `${type} (did you mean ${near}?)`;
    });
  const old = catalogue
    .filter(({ type, deprecated }) => deprecated && wanted.includes(type))
    .map(({ type }) => type);
  return [
    ...(told.length === 0
      ? []
      : [
          `${told.join(', ')}: not among the types that are known. Only incidents that are reported under exactly this type, or one that a pattern fits, are delivered.`,
        ]),
    ...(old.length === 0 ? [] : [`${old.join(', ')}: deprecated, and to be reported no more.`]),
  ];
}
