import { type Command, Option } from 'commander';
import { loadSettings } from '../../config/settings.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import { type Preset, presets, type Scope, scopes } from '../../kernel/values.ts';
import type { RouteAnswer } from '../client.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatNumberOf, formatRelative } from '../format.ts';
import { required, withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../output.ts';
import { parsePage } from '../pages.ts';

type TokenRow = RouteAnswer<'GET /tokens'>['data'][number];

const fields = [
  'id',
  'name',
  'scopes',
  'tenants',
  'created_at',
  'expires_at',
  'last_used_at',
  'creator',
] as const;

export function addTokensLs(tokens: Command, context: Context): void {
  const command = tokens
    .command('ls')
    .summary('list the access tokens')
    .description(
      'Lists the access tokens that are not revoked, newest first; never the tokens themselves.',
    )
    .option(jsonFlags, jsonHelp)
    .action((options: { json?: JsonOption }) => listTokens(context, options));
  withExamples(command, ['svcctl tokens ls', 'svcctl tokens ls --json id,name,last_used_at']);
}

async function listTokens(context: Context, { json }: { json?: JsonOption }): Promise<void> {
  const now = context.io.now();
  const printer = createRowPrinter<TokenRow>(context, {
    fields,
    json,
    columns: [
      { title: 'ID', value: (row) => row.id },
      { title: 'NAME', isElastic: true, value: (row) => row.name },
      { title: 'SCOPES', isElastic: true, value: (row) => row.scopes.join(',') },
      { title: 'TENANTS', isElastic: true, value: (row) => row.tenants?.join(',') ?? 'all' },
      {
        title: 'CREATED',
        value: (row) => row.created_at,
        shown: (row) => formatRelative(row.created_at, now),
      },
      {
        title: 'EXPIRES',
        value: (row) => row.expires_at,
        shown: (row) => (row.expires_at === null ? 'never' : formatRelative(row.expires_at, now)),
      },
      {
        title: 'LAST USED',
        value: (row) => row.last_used_at,
        shown: (row) => formatRelative(row.last_used_at, now),
      },
      {
        title: 'MADE BY',
        // Whoever is limited to tenants is not told of makers that are not.
        value: (row) => row.creator?.name ?? (row.tenants === null ? 'this machine' : null),
      },
    ],
  });
  const client = await context.connect();
  const { rows } = parsePage(await client.text('GET /tokens', {}));
  await printer.write(rows);
  await printer.end();
  if (context.isTerminal && json === undefined) {
    context.hint(`${formatNumberOf(rows.length, 'token')} · end one: svcctl tokens revoke ID`);
  }
}

type CreateOptions = {
  name?: string;
  preset?: Preset;
  scope?: Scope[];
  tenant?: string[];
  expires?: string;
  local?: true;
  json?: true;
};

export function addTokensCreate(tokens: Command, context: Context): void {
  const command = tokens
    .command('create')
    .summary('make an access token')
    .description('Makes an access token and prints it, this once, alone on stdout.')
    .option('--name <name>', 'what the token is called, in lists and in the audit log (required)')
    .addOption(new Option('--preset <preset>', 'a bundle of scopes').choices(Object.keys(presets)))
    .addOption(
      new Option('--scope <scope...>', 'one scope or several, instead of a preset').choices(scopes),
    )
    .option('--tenant <tenant...>', 'limit it to these tenants (default: all)')
    .option('--expires <when>', 'in 12h, 30d or 8w, or an RFC 3339 time (default: never)')
    .option(
      '--local',
      'make it in the database directly, on the machine with its settings: for a lost admin token',
    )
    .option('--json', 'print the whole answer as JSON')
    .action((options: CreateOptions) => create(context, options));
  withExamples(command, [
    'svcctl tokens create --name "support desk" --preset support-readonly --expires 30d',
    'svcctl tokens create --name pipeline-tx --scope enrichment:write --tenant TX > token.txt',
    'svcctl tokens create --local --name rescue --preset admin',
  ]);
}

/** Makes a token, by the API or with --local directly in the database. stdout gets the token alone. */
async function create(context: Context, options: CreateOptions): Promise<void> {
  if ((options.preset === undefined) === (options.scope === undefined)) {
    throw new AppError('usage_invalid', { detail: 'Give either --preset or --scope.' });
  }
  const request: TokenRequest = {
    name: required(options.name, '--name'),
    ...(options.preset === undefined ? {} : { preset: options.preset }),
    ...(options.scope === undefined ? {} : { scopes: options.scope }),
    ...(options.tenant === undefined ? {} : { tenants: options.tenant }),
    ...(options.expires === undefined
      ? {}
      : { expires_at: expiry(options.expires, context.io.now()) }),
  };
  const made = options.local
    ? await createLocally(context, request)
    : await createByApi(context, request);
  await context.out.write(`${options.json ? JSON.stringify(made) : made.token}\n`);
  const expires = made.expires_at
    ? `expires ${formatRelative(made.expires_at, context.io.now())}`
    : 'never expires';
  context.note(
    `Made ${made.id} "${made.name}" with ${made.scopes?.join(', ')}; ${expires}. It is shown only this once.`,
  );
}

type TokenRequest = {
  name: string;
  preset?: Preset;
  scopes?: Scope[];
  tenants?: string[];
  expires_at?: string;
};

async function createByApi(context: Context, request: TokenRequest) {
  const client = await context.connect();
  return client.json('POST /tokens', { body: request });
}

async function createLocally(context: Context, request: TokenRequest) {
  const settings = loadSettings(context.io.env);
  const app = await import('../../app.ts');
  return app.createLocalToken(settings, app.createLog('warn'), request);
}

const unitMillis: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** When a token expires, as an RFC 3339 time. The option takes such a time, or a span from now. */
function expiry(text: string, nowMillis: number): string {
  const [, amount, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined) {
    return formatMicros((nowMillis + Number(amount) * (unitMillis[unit] ?? 0)) * 1000);
  }
  if (parseInstant(text) === null) {
    throw new AppError('usage_invalid', {
      detail: `--expires: "${text}" is neither a span such as 30d nor a time such as 2026-12-31T00:00:00Z.`,
    });
  }
  return text;
}

export function addTokensRevoke(tokens: Command, context: Context): void {
  const command = tokens
    .command('revoke')
    .summary('end an access token')
    .description('Revokes an access token: it is dead at once, everywhere, for good.')
    .argument('<id>', 'the token’s id, as svcctl tokens ls prints it')
    .option('--yes', 'do not ask')
    .action((id: string, options: { yes?: true }) => revoke(context, id, options));
  withExamples(command, [
    'svcctl tokens revoke tok_4fTq9Zx7Kq2LmN0p',
    'svcctl tokens revoke tok_4fTq9Zx7Kq2LmN0p --yes',
  ]);
}

async function revoke(context: Context, id: string, { yes }: { yes?: true }): Promise<void> {
  const client = await context.connect();
  await confirm(context, yes, {
    question: `Revoke ${id}? Whoever uses it is locked out at once.`,
    act: 'Revoke',
    refused: 'Nothing was revoked.',
  });
  await client.json('DELETE /tokens/:id', { params: { id } });
  context.note(`Revoked ${id}.`);
}
