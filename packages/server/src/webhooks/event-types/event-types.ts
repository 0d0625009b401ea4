import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { requireAllTenants } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { compactMember, refusalIn } from '../../kernel/json-slices.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { AuditEntry } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import {
  type CatalogueType,
  eventTypePattern,
  type newCatalogueTypeSchema,
  webhooksContract,
} from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { ownTypes } from '../values.ts';
import { mostTypes } from './catalogue.ts';
import { assertSchema } from './fit.ts';
import * as queries from './queries.ts';

const refusal =
  'A token limited to tenants cannot change the catalogue of event types, which is for all tenants.';
const deepest = 500;
const typeForm = new RegExp(`^${eventTypePattern}$`);

export function addEventTypeRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  http.route(webhooksContract.listEventTypes, async ({ query, reply }) => {
    const scope = { list: 'event-types', filters: {} };
    const page = { ...query, cursorKey: options.cursorKey(), scope };
    const rows = await queries.listTypeTexts(db, toKeyset(page));
    const { data, next_cursor } = toPage(page, rows, ({ type }) => [type]);
    const next = JSON.stringify(next_cursor);
    return sendJson(reply, `{"data":[${data.map(textOf).join(',')}],"next_cursor":${next}}`);
  });
  http.route(webhooksContract.getEventType, async ({ params, reply }) =>
    sendJson(reply, textOf(found(await queries.findTypeText(db, params.type)))),
  );
  http.route(webhooksContract.setEventType, async ({ params, body, reply, ...caller }) => {
    const set = await setType(db, options, caller, { ...body, type: params.type });
    return sendJson(reply, textOf(set));
  });
  http.route(webhooksContract.deleteEventType, async ({ params, actor, request, reply }) => {
    requireAllTenants(actor, refusal);
    await db.transaction(async (connection) => {
      const before = found(await queries.removeType(connection, params.type));
      const entry = { actor, request, action: 'event_type.delete', target: before.type };
      await options.audit(connection, { ...entry, tenant: null, before });
    });
    return reply.send();
  });
}

/** A type as JSON. Schema and sample are as they were spelled, because JSON.parse would change large numbers. */
function textOf({ schema, sample, ...row }: queries.TypeText): string {
  return `${JSON.stringify(row).slice(0, -1)},"schema":${schema},"sample":${sample}}`;
}

const sendJson = (reply: FastifyReply, text: string) => reply.type('application/json').send(text);

export function found<Row>(row: Row | undefined): Row {
  if (row !== undefined) return row;
  throw new AppError('event_type_not_found', {
    detail:
      'The catalogue has no such type. svcctl event-types ls and GET /webhook/event-types list it.',
  });
}

/** Adds a type or replaces it. Throws 400 `request_invalid`, also when the catalogue is full. */
async function setType(
  db: Database,
  { audit }: Pick<WebhookOptions, 'audit'>,
  { actor, request }: Pick<AuditEntry, 'actor' | 'request'>,
  given: Static<typeof newCatalogueTypeSchema> & { type: string },
): Promise<queries.TypeText> {
  requireAllTenants(actor, refusal);
  if (!typeForm.test(given.type) || given.type.length > 128) {
    throw invalidInput('/type', 'must be a dotted name such as incident.created');
  }
  const { type, description = null, schema = null, sample = null, deprecated = false } = given;
  if (type.startsWith(ownTypes)) {
    throw invalidInput('/type', `must not begin with ${ownTypes}: these are the service's own`);
  }
  const spelled = (name: 'schema' | 'sample', value: unknown) => {
    if (value === null) return null;
    const text = compactMember(request.jsonText, name) ?? JSON.stringify(value);
    const fault = refusalIn(text, deepest);
    if (fault !== null) throw invalidInput(`/${name}`, fault.message);
    return text;
  };
  const texts = { schema: spelled('schema', schema), sample: spelled('sample', sample) };
  await assertSchema(schema, sample);
  return db.transaction(async (connection) => {
    const before = await queries.findType(connection, type);
    const row = { type, description, deprecated, ...texts };
    const after = await queries.putType(connection, row, mostTypes);
    if (after === undefined) throw invalidInput('/type', `there are ${mostTypes} types already`);
    const entry = { actor, request, action: 'event_type.set', target: type, tenant: null };
    await audit(connection, { ...entry, before, after });
    return { ...after, ...texts };
  });
}

/** All types, for the description of the API. */
export function listAllTypes(db: Queryable): Promise<CatalogueType[]> {
  return queries.listTypes(db, { after: null, limit: mostTypes });
}
