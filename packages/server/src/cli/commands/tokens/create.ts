import { type Command, Option } from 'commander';
import { loadSettings } from '../../../config/settings.ts';
import { type Preset, presets, type Scope, scopes } from '../../../kernel/actor.ts';
import { AppError } from '../../../kernel/errors.ts';
import { formatMicros, parseInstant } from '../../../kernel/instant.ts';
import type { Context } from '../../context.ts';
import { formatRelative } from '../../format.ts';
import { required, withExamples } from '../../help.ts';

type Options = {
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
    .action((options: Options) => create(context, options));
  withExamples(command, [
    'svcctl tokens create --name "support desk" --preset support-readonly --expires 30d',
    'svcctl tokens create --name pipeline-tx --scope enrichment:write --tenant TX > token.txt',
    'svcctl tokens create --local --name rescue --preset admin',
  ]);
}

async function create(context: Context, options: Options): Promise<void> {
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
  const app = await import('../../../app.ts');
  return app.createLocalToken(settings, app.createLog('warn'), request);
}

const unitMs: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** An RFC 3339 time, or a span from now, as an RFC 3339 time. */
function expiry(text: string, nowMs: number): string {
  const [, amount, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined) {
    return formatMicros((nowMs + Number(amount) * (unitMs[unit] ?? 0)) * 1000);
  }
  if (parseInstant(text) === null) {
    throw new AppError('usage_invalid', {
      detail: `--expires: "${text}" is neither a span such as 30d nor a time such as 2026-12-31T00:00:00Z.`,
    });
  }
  return text;
}
