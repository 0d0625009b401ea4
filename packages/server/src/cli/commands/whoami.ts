import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { formatRelative } from '../format.ts';
import { withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../output.ts';
import { createTable } from '../table.ts';

const fields = ['name', 'scopes', 'tenants', 'expires_at', 'url', 'source', 'profile'] as const;

export function addWhoami(program: Command, context: Context): void {
  const command = program
    .command('whoami')
    .summary('say which token and which service are in use')
    .description('Says who the token in use is, where it was found, and which service it goes to.')
    .option(jsonFlags, jsonHelp)
    .action((options: { json?: JsonOption }) => whoami(context, options));
  withExamples(command, ['svcctl whoami', 'svcctl --profile ops whoami --json name,scopes']);
}

async function whoami(context: Context, { json }: { json?: JsonOption }): Promise<void> {
  const pick = picker(json, fields);
  const client = await context.connect();
  const me = await client.json('GET /me', {});
  const { url, source, profile } = client.connection;
  const answer = { ...me, url, source, profile };
  if (json !== undefined) {
    await context.out.write(`${pick(JSON.stringify(answer))}\n`);
    return;
  }
  await createTable<typeof answer>(context, [
    { title: 'NAME', value: (row) => row.name },
    { title: 'SCOPES', value: (row) => row.scopes.join(',') },
    { title: 'TENANTS', value: (row) => row.tenants?.join(',') ?? 'all' },
    {
      title: 'EXPIRES',
      value: (row) => row.expires_at,
      shown: (row) =>
        row.expires_at === null ? 'never' : formatRelative(row.expires_at, context.io.now()),
    },
    { title: 'SERVICE', value: (row) => row.url },
    { title: 'FROM', value: () => client.connection.place },
  ]).write([answer]);
}
