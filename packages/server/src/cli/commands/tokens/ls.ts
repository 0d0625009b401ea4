import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { formatNumberOf, formatRelative } from '../../format.ts';
import { withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { readPage } from '../../pages.ts';
import type { RouteAnswer } from '../../routes.ts';

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
      { title: 'MADE BY', value: (row) => row.creator?.name ?? 'this machine' },
    ],
  });
  const client = await context.connect();
  const { rows } = readPage(await client.text('GET /tokens', {}));
  await printer.write(rows);
  await printer.end();
  if (context.isTerminal && json === undefined) {
    context.hint(`${formatNumberOf(rows.length, 'token')} · end one: svcctl tokens revoke ID`);
  }
}
