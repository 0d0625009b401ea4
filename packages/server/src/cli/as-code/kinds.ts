import { maskUrl } from '../../kernel/mask-url.ts';
import { type Preset, presets } from '../../kernel/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { usage } from '../help.ts';
import { type ListRoute, type RowOf, walkPages, walkRows } from '../pages.ts';
import { parseExactly } from '../parse-answer.ts';
import { changedDelivery, comparedDelivery, deliveryOf } from './delivery.ts';

/** One thing as a file has it. */
export type Row = Readonly<Record<string, unknown>>;
/** One thing that the service has: its id there, and how a file would have it. */
export type Held = {
  readonly id: string;
  readonly row: Row;
  /** What holds of it, although a file would not say so. */
  readonly actual?: Row;
};

/** Where something is made or changed, and who is told the secret that shows only then. */
export type Target = {
  readonly client: Client;
  readonly tell: (secret: string | null) => Promise<void>;
};

/** A kind of things that files describe: what apply, the comparison and the export need to know of it. */
export type Kind = {
  /** Its section in a file. */
  readonly section: string;
  readonly one: string;
  /** By these members a thing is known; they are required. Their texts name it for people. */
  readonly key: readonly string[];
  /** The other members, with what holds where a file does not name them; undefined: then it stays as it is. */
  readonly fields: Row;
  /** What of a member is compared, where it is not all of it. */
  readonly compared?: Readonly<Record<string, (value: unknown) => unknown>>;
  /** What goes with a change of a member, although it does not differ: the service would take it away. */
  readonly goesWith?: Readonly<Record<string, readonly string[]>>;
  /** Members that the service never shows: they are sent, and not compared. Their values stand outside of files. */
  readonly secret?: readonly string[];
  /** Another way of writing a row. Throws `usage_invalid`. */
  readonly spell?: (row: Row) => Row;
  readonly list: (context: Context, client: Client) => Promise<readonly Held[]>;
  /** Tells the secret that shows this once, if there is one, before it goes on. */
  readonly create: (on: Target, row: Row) => Promise<unknown>;
  readonly change: (on: Target, held: Held, change: Row, row: Row) => Promise<unknown>;
  /** Null: such a thing is never removed because no file has it. */
  readonly remove: ((client: Client, held: Held) => Promise<unknown>) | null;
  /** Whether this one is never removed so. */
  readonly isKept?: (held: Held) => boolean;
  /** Whether a change takes away what does not come back. */
  readonly takesAway?: (before: Row, after: Row) => boolean;
  /** What holds of a thing for as long as it has no row of its own; undefined: nothing. */
  readonly before?: (held: readonly Held[]) => Row | undefined;
};

async function all<R extends ListRoute>({ io }: Context, client: Client, route: R) {
  const rows: RowOf<R>[] = [];
  for await (const row of walkRows(io, client, { route, query: {} as never })) rows.push(row);
  return rows;
}

const eventTypes: Kind = {
  section: 'event_types',
  one: 'event type',
  key: ['type'],
  fields: { description: null, schema: null, sample: null, deprecated: false },
  // Numbers in schemas and samples keep their digits.
  async list({ io }, client) {
    const held: Held[] = [];
    const route = 'GET /webhook/event-types';
    for await (const { rows } of walkPages(io, client, { route, query: {} })) {
      const types = rows.map((text) => parseExactly(text) as Row);
      held.push(...types.map((row) => ({ id: String(row.type), row })));
    }
    return held;
  },
  create: putType,
  change: (on, _held, _change, row) => putType(on, row),
  remove: (client, { id }) =>
    client.text('DELETE /webhook/event-types/:type', { params: { type: id } }),
};

function putType({ client }: Target, { type, ...body }: Row) {
  const input = { params: { type: String(type) }, body: body as never };
  return client.json('PUT /webhook/event-types/:type', input);
}

const policies: Kind = {
  section: 'policies',
  one: 'policy',
  key: ['tenant'],
  fields: { hot_days: 3, delete_days: null, hold: false },
  list: async (context, client) =>
    (await all(context, client, 'GET /retention/policies')).map((row) => ({ id: row.tenant, row })),
  // What somebody else has set since the plan, such as a hold, is not overwritten.
  create: (on, row) => putPolicy(on, { ...row, if_updated_at: null }),
  change: (on, { row: { updated_at } }, _change, row) =>
    putPolicy(on, { ...row, if_updated_at: updated_at }),
  remove: (client, { id, row: { updated_at } }) =>
    client.text('DELETE /retention/policies/:tenant', {
      params: { tenant: id },
      query: { if_updated_at: String(updated_at) },
    }),
  // The default is always there.
  isKept: ({ id }) => id === '*',
  takesAway: (before, after) =>
    (before.hold === true && after.hold === false) ||
    (after.delete_days !== null &&
      (before.delete_days === null || Number(after.delete_days) < Number(before.delete_days))),
  before: (held) => held.find(({ id }) => id === '*')?.row,
};

function putPolicy({ client }: Target, { tenant, ...body }: Row) {
  const input = { params: { tenant: String(tenant) }, body: body as never };
  return client.json('PUT /retention/policies/:tenant', input);
}

const tokens: Kind = {
  section: 'tokens',
  one: 'token',
  key: ['name'],
  fields: { scopes: null, tenants: null, stores: null, addresses: null },
  spell({ preset, ...row }) {
    if (preset === undefined) return row;
    const isKnown = typeof preset === 'string' && Object.hasOwn(presets, preset);
    if (!isKnown || row.scopes !== undefined) {
      throw usage(
        `token ${String(row.name)}: give either scopes or preset, one of ${Object.keys(presets).join(', ')}`,
      );
    }
    return { ...row, scopes: presets[preset as Preset] };
  },
  // Those that were made on the machine of the service belong to it, and to no file.
  list: async (context, client) =>
    (await all(context, client, 'GET /tokens'))
      .filter(({ creator }) => creator !== null)
      // A file names either tenants or stores. An older service knows no stores.
      .map((row) => ({
        id: row.id,
        row: row.stores ? { ...row, tenants: null } : { ...row, stores: null },
      })),
  create: createToken,
  // A token cannot be changed: another one takes its place.
  async change(on, { id }, _change, row) {
    await createToken(on, row);
    await on.client.text('DELETE /tokens/:id', { params: { id } });
  },
  remove: null,
  takesAway: () => true,
};

async function createToken(
  { client, tell }: Target,
  { tenants, stores, addresses, ...row }: Row,
): Promise<void> {
  const limits = { tenants: tenants ?? undefined, stores: stores ?? undefined };
  const body = { ...row, ...limits, addresses: addresses ?? undefined } as never;
  await tell((await client.json('POST /tokens', { body })).token);
}

const notices: Kind = {
  section: 'notices',
  one: 'target of notices',
  key: ['to'],
  fields: { tenant: null, kinds: null, min_severity: 'warning', enabled: true },
  list: async (context, client) =>
    (await all(context, client, 'GET /notify/targets')).map(({ url, to, ...row }) => ({
      id: row.id,
      row: { ...row, to: url ?? to },
    })),
  create: createTarget,
  async change(on, held, change, row) {
    if (!('tenant' in change)) return changeTarget(on.client, held.id, change);
    // Whom it tells of whom cannot be changed: another target takes its place, with a secret of its own.
    await createTarget(on, row);
    await removeTarget(on.client, held);
  },
  remove: removeTarget,
  takesAway: (before, after) => before.tenant !== after.tenant,
};

async function createTarget({ client, tell }: Target, { to, enabled, tenant, ...row }: Row) {
  const address = String(to);
  const where = address.includes('://')
    ? { kind: 'webhook', url: address }
    : { kind: 'email', to: address };
  const made = await client.json('POST /notify/targets', {
    body: { ...where, tenant: tenant ?? undefined, ...row } as never,
  });
  await tell(made.secret);
  if (enabled === false) await changeTarget(client, made.id, { enabled });
}

function removeTarget(client: Client, { id }: Held) {
  return client.text('DELETE /notify/targets/:id', { params: { id } });
}

function changeTarget(client: Client, id: string, body: Row) {
  return client.json('PATCH /notify/targets/:id', { params: { id }, body });
}

const headersOf = (value: unknown) => Object.entries((value ?? {}) as Row);

export const endpoints: Kind = {
  section: 'endpoints',
  one: 'endpoint',
  key: ['tenant', 'uid'],
  fields: {
    type: 'push',
    url: undefined,
    name: null,
    description: null,
    labels: {},
    enabled: undefined,
    event_types: ['*'],
    stores: null,
    where: null,
    headers: {},
    ordered: 'none',
    when_stuck: 'block',
    max_attempts: null,
    retry_schedule: null,
    rate_limit: null,
    disable_after_days: null,
    delivery: null,
  },
  compared: {
    // Their values are never shown, so only their names are compared.
    headers: (value) => headersOf(value).map(([name]) => name.toLowerCase()),
    delivery: comparedDelivery,
  },
  // What was meant for one receiver is not sent to another, unless it is named with its URL.
  goesWith: { url: ['headers', 'delivery'] },
  secret: ['secret'],
  list: async (context, client) => {
    const rows = await all(context, client, 'GET /webhook/endpoints');
    return Promise.all(
      rows.map(async (listed) => {
        const { id } = listed;
        // The list hides the query of a URL.
        const isMasked = listed.url.endsWith('?…');
        const row = isMasked
          ? await client.json('GET /webhook/endpoints/:id', { params: { id } })
          : listed;
        const variable = (name: string) => `\${${variableOf(`${row.uid ?? id}_${name}`)}}`;
        const headers = Object.fromEntries(row.header_names.map((name) => [name, variable(name)]));
        const delivery = deliveryOf(row.delivery, variable);
        // One that is polled has none that a file could name.
        const url = row.type === 'pull' ? undefined : row.url;
        // One without a uid is called by its id, in this installation and as its uid in others.
        const uid = row.uid ?? id;
        // Whatever else disabled it is not for a file to say.
        const enabled = row.disabled_reason === 'operator' ? false : undefined;
        const actual = { enabled: row.enabled };
        return { id, row: { ...row, uid, url, headers, delivery, enabled }, actual };
      }),
    );
  },
  async create({ client, tell }, row) {
    const { headers, ...rest } = withoutNulls(row);
    // One that is polled may have none.
    const body = headersOf(headers).length > 0 ? { ...rest, headers } : rest;
    await tell((await client.json('POST /webhook/endpoints', { body: body as never })).secret);
  },
  async change({ client }, held, change) {
    const { headers, delivery } = change;
    const names = headersOf(headers).map(([name]) => name.toLowerCase());
    const gone = headersOf(held.row.headers)
      .filter(([name]) => !names.includes(name.toLowerCase()))
      .map(([name]) => [name, null]);
    const body = {
      ...change,
      ...(headers !== undefined && {
        headers: { ...(headers as object), ...Object.fromEntries(gone) },
      }),
      ...(delivery !== undefined && {
        delivery: changedDelivery(held.row.delivery, delivery) as never,
      }),
    };
    const params = { id: held.id };
    await client.json('PATCH /webhook/endpoints/:id', { params, body });
  },
  remove: (client, { id }) => client.text('DELETE /webhook/endpoints/:id', { params: { id } }),
};

function withoutNulls(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}

function variableOf(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_');
}

/** In the order in which they are applied. */
export const kinds: readonly Kind[] = [eventTypes, policies, tokens, notices, endpoints];

/** What names a thing among those of its kind. What may be secret of an address is left out, as in lists. */
export function nameOf(kind: Kind, row: Row): string {
  return kind.key.map((member) => maskUrl(String(row[member]))).join('/');
}
