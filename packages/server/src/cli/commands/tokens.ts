import { AppError } from '../../kernel/errors.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import { type Preset, presets, scopes } from '../../kernel/values.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { factLines, moment, printDetails, timesOf } from '../details.ts';
import { formatRelative } from '../format.ts';
import { spanMillis, usage, wholeNumber } from '../help.ts';
import { list } from '../list.ts';
import { printObject } from '../output.ts';
import { type App, openMadeApp } from '../own-app.ts';
import { shownText } from '../table.ts';
import { jsonOption, type Verbs, verb } from '../verb.ts';

const { word, text, ago } = columnsOf<RouteAnswer<'GET /tokens'>['data'][number]>();

const columns = [
  word('ID', 'id'),
  text('NAME', 'name'),
  text('SCOPES', (row) => row.scopes.join(',')),
  text('TENANTS', (row) => (row.stores ?? row.tenants)?.join(',') ?? 'all'),
  text('FROM', (row) => row.addresses?.join(',') ?? 'anywhere'),
  ago('CREATED', 'created_at'),
  ago('EXPIRES', 'expires_at', {
    shown: ({ expires_at: at }, now) => (at === null ? 'never' : formatRelative(at, now)),
  }),
  ago('LAST USED', 'last_used_at'),
  // Whoever is limited to tenants is not told of makers that are not.
  word('MADE BY', (row) => row.creator?.name ?? (row.tenants === null ? 'this machine' : null)),
];

const ls = list('GET /tokens', {
  summary: 'list the access tokens',
  description:
    'Lists the access tokens that are not revoked, newest first; never the tokens themselves.',
  examples: [
    'svcctl tokens ls',
    'svcctl tokens ls --unused-days 90',
    'svcctl tokens ls --json id,name,last_used_at',
  ],
  options: [
    ['--unused-days <days>', 'only those that nobody has used for so long', wholeNumber(1)],
  ],
  query: ({ unusedDays }: { unusedDays?: number }) => ({ unused_days: unusedDays }),
  columns,
  below: { one: 'token', next: 'end one: svcctl tokens revoke ID' },
});

const show = verb({
  summary: 'show one access token',
  description: 'Shows one access token that is not revoked; never the token itself.',
  argument: ['<id>', 'the token’s id, as svcctl tokens ls prints it'],
  examples: [
    'svcctl tokens show tok_4fTq9Zx7Kq2LmN0p',
    'svcctl tokens show tok_4fTq9Zx7Kq2LmN0p --json scopes',
  ],
  options: [jsonOption],
  answers: 'GET /tokens data',
  async act(context, { json }, id) {
    const { data } = await (await context.connect()).json('GET /tokens', {});
    const token = data.find((row) => row.id === id);
    if (token === undefined) throw new AppError('token_not_found');
    const times = timesOf(context);
    const moments = new Map([
      ['CREATED', token.created_at],
      ['EXPIRES', token.expires_at],
      ['LAST USED', token.last_used_at],
    ]);
    const lines = () =>
      factLines(
        context,
        columns.map((column) => [
          column.title.toLowerCase(),
          moment(moments.get(column.title) ?? null, times) ??
            shownText(column, token, times.nowMillis),
        ]),
      );
    await printDetails(context, JSON.stringify(token), { json, lines });
  },
});

/** Makes a token, by the API or with --local directly in the database. stdout gets the token alone. */
const create = verb({
  summary: 'make an access token',
  description: 'Makes an access token and prints it, this once, alone on stdout.',
  examples: [
    'svcctl tokens create --name "support desk" --preset support-readonly --expires 30d',
    'svcctl tokens create --name pipeline-tx --scope enrichment:write --tenant TX > token.txt',
    'svcctl tokens create --name "branch DFW" --scope enrichment:read --store TX/DFW',
    'svcctl tokens create --local --name rescue --preset admin',
  ],
  options: [
    ['--name <name>', 'what the token is called, in lists and in the audit log (required)'],
    ['--preset <preset>', 'a bundle of scopes', Object.keys(presets) as Preset[]],
    ['--scope <scope...>', 'one scope or several, instead of a preset', scopes],
    ['--tenant <tenant...>', 'limit it to these tenants (default: all)'],
    ['--store <tenant/store...>', 'limit it to these stores instead, as TX/DFW'],
    [
      '--from <network...>',
      'limit it to these networks or addresses, as 10.0.0.0/8 (default: any)',
    ],
    ['--expires <when>', 'in 12h, 30d or 8w, or an RFC 3339 time (default: never)'],
    [
      '--local',
      'make it in the database directly, on the machine with its settings: for a lost admin token',
    ],
    jsonOption,
  ],
  answers: 'POST /tokens',
  async act(context, options) {
    if ((options.preset === undefined) === (options.scope === undefined)) {
      throw usage('Give either --preset or --scope.');
    }
    const {
      name,
      preset,
      scope: scopes,
      tenant: tenants,
      store: stores,
      from: addresses,
      expires: when,
    } = options;
    const request = {
      name,
      ...(preset && { preset }),
      ...(scopes && { scopes }),
      ...(tenants && { tenants }),
      ...(stores && { stores }),
      ...(addresses && { addresses }),
      ...(when !== undefined && { expires_at: expiry(when, context.io.now()) }),
    };
    const made = options.local
      ? await createLocally(context, request)
      : await (await context.connect()).json('POST /tokens', { body: request });
    if (options.json === undefined) await context.out.write(`${made.token}\n`);
    else await printObject(context, JSON.stringify(made), options.json);
    const expires = made.expires_at
      ? `expires ${formatRelative(made.expires_at, context.io.now())}`
      : 'never expires';
    context.note(
      `Made ${made.id} "${made.name}" with ${made.scopes?.join(', ')}; ${expires}. It is shown only this once.`,
    );
  },
});

type LocalRequest = Parameters<App['createLocalToken']>[2];

async function createLocally(context: Context, request: LocalRequest) {
  const { settings, app, log } = await openMadeApp(context);
  return app.createLocalToken(settings, log, request);
}

/** When a token expires, as an RFC 3339 time. The option takes such a time, or a span from now. */
function expiry(text: string, nowMillis: number): string {
  const span = spanMillis(text, /^(\d{1,5})([hdw])$/);
  if (span !== null) return formatMicros((nowMillis + span) * 1000);
  if (parseInstant(text) === null) {
    throw usage(
      `--expires: "${text}" is neither a span such as 30d nor a time such as 2026-12-31T00:00:00Z.`,
    );
  }
  return text;
}

const revoke = call('DELETE /tokens/:id', {
  summary: 'end an access token',
  description: 'Revokes an access token: it is dead at once, everywhere, for good.',
  argument: ['<id>', 'the token’s id, as svcctl tokens ls prints it'],
  examples: [
    'svcctl tokens revoke tok_4fTq9Zx7Kq2LmN0p',
    'svcctl tokens revoke tok_4fTq9Zx7Kq2LmN0p --yes',
  ],
  asks: {
    question: ([id]) => `Revoke ${id}? Whoever uses it is locked out at once.`,
    act: 'Revoke',
    refused: 'Nothing was revoked.',
  },
  done: (id) => `Revoked ${id}.`,
});

const rotate = call('POST /tokens/:id/rotate', {
  summary: 'give an access token another secret',
  description:
    'Gives an access token another secret and prints it, this once, alone on stdout. The one before is taken until the overlap ends, but makes and rotates no tokens, and signs in nowhere. A secret that leaked: --overlap 0h.',
  argument: ['<id>', 'the token’s id, as svcctl tokens ls prints it'],
  examples: [
    'svcctl tokens rotate tok_4fTq9Zx7Kq2LmN0p --overlap 24h > token.txt',
    'svcctl tokens rotate tok_4fTq9Zx7Kq2LmN0p --overlap 0h --yes',
  ],
  options: [['--overlap <span>', 'how long the old one is still taken, up to 30d (default: 24h)']],
  body: ({ overlap }) => (overlap === undefined ? {} : { overlap_seconds: overlapOf(overlap) }),
  asks: {
    question: ([id]) => `Give ${id} another secret? Its console sessions end.`,
    act: 'Rotate',
  },
  prints: ({ token }) => token,
  done: (id, { overlap_until: until }, { nowMillis }) =>
    `Rotated ${id}. It is shown only this once; the old one ${until === null ? 'has ended' : `ends ${formatRelative(until, nowMillis)}`}.`,
});

function overlapOf(text: string): number {
  const span = spanMillis(text, /^(\d{1,5})([hd])$/);
  if (span === null) throw usage(`--overlap: "${text}" is no span such as 24h or 7d.`);
  return span / 1000;
}

export const tokens: Verbs = { create, ls, show, revoke, rotate };
