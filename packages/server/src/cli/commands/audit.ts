import type { Command } from 'commander';
import type { RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { formatInstant, formatNumberOf } from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp } from '../output.ts';
import { printList } from '../pages.ts';
import { checkDays } from '../slice.ts';
import type { Column } from '../table.ts';

type AuditEntry = RouteAnswer<'GET /audit'>['data'][number];

const fields = [
  'id',
  'at',
  'actor',
  'action',
  'target',
  'tenant',
  'tenants',
  'request_id',
  'address',
  'user_agent',
  'before',
  'after',
] as const satisfies readonly (keyof AuditEntry)[];

type Options = {
  actor?: string;
  action?: string;
  tenant?: string;
  from?: string;
  to?: string;
  limit?: number;
  json?: JsonOption;
};

const rowsByDefault = 100;

export function addAuditLs(audit: Command, context: Context): void {
  const command = audit
    .command('ls')
    .summary('list the audit log')
    .description(
      'Lists what operators wrote and exported, newest first: who, what, when and from where. --json also\ntells what it was before and has become.',
    )
    .option('--actor <id>', 'only by the token of this id')
    .option('--action <action>', 'only this action, or all that begin so: token.')
    .option('--tenant <tenant>', 'only about this tenant')
    .option('--from <date>', 'from this day on, as 2026-03-05 (UTC)')
    .option('--to <date>', 'up to this day, inclusive')
    .option('--limit <rows>', `rows, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listAudit(context, options));
  withExamples(command, [
    'svcctl audit ls --action export.',
    'svcctl audit ls --from 2026-03-01 --to 2026-03-31 --tenant TX --limit 10000',
    'svcctl audit ls --action token.revoke --json at,actor,before',
  ]);
}

async function listAudit(
  context: Context,
  { json, limit = rowsByDefault, ...query }: Options,
): Promise<void> {
  checkDays(query);
  const output = { columns, fields, json };
  await printList(context, output, {
    route: 'GET /audit',
    query,
    most: limit,
    tell({ printed, hasMore }) {
      if (printed === 0) return 'No entries match.';
      const count = formatNumberOf(printed, 'entry', 'entries');
      return hasMore ? `${count} · there are older ones: --limit` : count;
    },
  });
}

const columns: readonly Column<AuditEntry>[] = [
  { title: 'AT (UTC)', value: (row) => row.at, shown: (row) => formatInstant(row.at) },
  { title: 'ACTOR', isElastic: true, value: (row) => row.actor.name },
  { title: 'ACTION', value: (row) => row.action },
  { title: 'TARGET', isElastic: true, value: (row) => row.target },
  { title: 'TENANT', isElastic: true, value: (row) => row.tenant },
  { title: 'FROM', value: (row) => row.address },
];
