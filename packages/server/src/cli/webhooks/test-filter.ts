import { membersOf } from '../../kernel/json-items.ts';
import { numberOf } from '../../kernel/values.ts';
import { call } from '../act.ts';
import type { Client, RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { usage, wholeNumber } from '../help.ts';
import { JsonText } from '../parse-answer.ts';
import { fieldsSent } from '../sent-fields.ts';
import type { Given } from '../verb.ts';
import { subscriptionOptions } from './endpoint-options.ts';
import { readJson } from './read-json.ts';

type Tried = RouteAnswer<'POST /webhook/filters/test'>;
type Row = Tried['data'][number];

const reasons = {
  type: 'no: another type',
  store: 'no: another store',
  where: 'no: filtered out',
  too_costly: 'yes, unfiltered: the filter takes too long',
} as const;

const { word, text, instant } = columnsOf<Row>();
const columns = [
  word('INCIDENT', (row) => row.id ?? '(given)'),
  instant('REPORTED (UTC)', 'created_at'),
  text('TYPE', 'type'),
  text('STORE', 'store'),
  text('PASSES', ({ reason }) => (reason === null ? 'yes' : reasons[reason])),
];

const subscription = ({ event, store, where }: Given<typeof subscriptionOptions>) =>
  fieldsSent(subscriptionOptions, { event, store, where });

/** `svcctl endpoints test-filter`. */
export const testFilter = call('POST /webhook/filters/test', {
  summary: 'say what an endpoint would get by a filter',
  description:
    'Applies types, stores and a filter to the newest incidents of a tenant, or to a payload, and says which an endpoint would get. With the id of an endpoint, what it has now counts, but for what is given. Nothing is sent or stored.',
  argument: ['[id]', 'an endpoint, whose types, stores and filter are tried'],
  examples: [
    `svcctl endpoints test-filter --tenant TX --where 'score >= 0.9 and data.kind in ("a", "b")'`,
    'svcctl endpoints test-filter ep_4fTq9Zx7Kq2LmN0p --payload @payload.json',
    `svcctl endpoints test-filter ep_4fTq9Zx7Kq2LmN0p --where 'not exists(muted)' --json`,
  ],
  options: [
    ['--tenant <tenant>', 'whose incidents are looked at (required without an endpoint)'],
    ...subscriptionOptions,
    [
      '--payload <json>',
      'JSON as receivers get it, {"type", "timestamp", "data"}, also with "store": @file, or - for stdin',
    ],
    [
      '--limit <incidents>',
      'how many of the newest are looked at, up to 100 (default: 100)',
      wholeNumber(1),
    ],
    ['--json', 'print the whole answer as JSON'],
  ],
  check: ({ tenant }, id) => {
    if (id === undefined && tenant === undefined) throw usage('--tenant is missing.');
  },
  async read(context, client, options, id) {
    const { tenant, payload, limit } = options;
    const incident = payload === undefined ? undefined : await readPayload(context, payload);
    const given = Object.entries(subscription(options)).filter(([, to]) => to !== undefined);
    const wanted = { ...(await wantedBy(client, tenant, id)), ...Object.fromEntries(given) };
    const set = Object.entries(wanted).filter(([, to]) => to !== null);
    const body = { tenant: wanted.tenant, ...Object.fromEntries(set), limit, incident };
    return client.json('POST /webhook/filters/test', { body: body as never });
  },
  table: ({ data: rows }) => ({ rows, columns }),
  done: (_id, tried) => summaryOf(tried),
});

/** What is tried before the options change it: nothing but the tenant, or what an endpoint wants now. */
async function wantedBy(client: Client, tenant = '', id?: string) {
  if (id === undefined) return { tenant };
  const endpoint = await client.json('GET /webhook/endpoints/:id', { params: { id } });
  if (tenant !== '' && tenant !== endpoint.tenant) {
    throw usage(`${id} is an endpoint of ${endpoint.tenant}: leave out --tenant.`);
  }
  const { event_types, stores, where } = endpoint;
  return { tenant: endpoint.tenant, event_types, stores, where };
}

/** A payload as the API takes it, as text. */
async function readPayload(context: Context, option: string): Promise<JsonText> {
  const { value, text } = await readJson(context, '--payload', option);
  if (typeof value !== 'object' || value === null || !('type' in value) || !('data' in value)) {
    throw usage('--payload: it is an object with "type" and "data", as receivers get it.');
  }
  const members = membersOf(text);
  const parts = [
    ['type', members.get('type')],
    ['store', members.get('store')],
    ['occurred_at', members.get('occurred_at') ?? members.get('timestamp')],
    ['data', members.get('data')],
  ];
  const kept = parts.filter(([, part]) => part !== undefined);
  return new JsonText(`{${kept.map(([name, part]) => `"${name}":${part}`).join(',')}}`);
}

/** `37 of 100 incidents pass · 60 filtered out, 3 of another type`. */
function summaryOf({ looked_at, passed, data }: Tried): string {
  if (looked_at === 0) return 'There are no incidents yet to look at.';
  const count = (wanted: Row['reason']) => data.filter(({ reason }) => reason === wanted).length;
  const parts = [
    [count('where'), 'filtered out'],
    [count('type'), 'of another type'],
    [count('store'), 'of another store'],
    [count('too_costly'), 'unfiltered, because the filter takes too long'],
  ] as const;
  const others = parts.filter(([n]) => n > 0).map(([n, what]) => `${n} ${what}`);
  const all = `${passed} of ${numberOf(looked_at, 'incident')} pass${passed === 1 ? 'es' : ''}`;
  return others.length === 0 ? `${all}.` : `${all} · ${others.join(', ')}`;
}
