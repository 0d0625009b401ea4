import type { Command } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import { membersOf } from '../../kernel/json-slices.ts';
import type { RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { formatInstant, formatNumberOf } from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, printObject } from '../output.ts';
import { maxPageRows, parsePage, printList } from '../pages.ts';
import { parseAnswer } from '../parse-answer.ts';
import { withRetries } from '../retry.ts';
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
  'place',
  'hash',
] as const satisfies readonly (keyof AuditEntry)[];

type Filters = {
  actor?: string;
  action?: string;
  tenant?: string;
  from?: string;
  to?: string;
};
type Options = Filters & { limit?: number; json?: JsonOption };

const rowsByDefault = 100;

export function addAuditLs(audit: Command, context: Context): void {
  const command = audit
    .command('ls')
    .summary('list the audit log')
    .description(
      'Lists what operators wrote and exported, newest first: who, what, when and from where. --json also tells what it was before and has become.',
    )
    .option('--limit <rows>', `rows, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listAudit(context, options));
  withExamples(addFilters(command), [
    'svcctl audit ls --action export.',
    'svcctl audit ls --from 2026-03-01 --to 2026-03-31 --tenant TX --limit 10000',
    'svcctl audit ls --action token.revoke --json at,actor,before',
  ]);
}

function addFilters(command: Command): Command {
  return command
    .option('--actor <id>', 'only by the token of this id')
    .option('--action <action>', 'only this action, or all that begin so: token.')
    .option('--tenant <tenant>', 'only about this tenant')
    .option('--from <date>', 'from this day on, as 2026-03-05 (UTC)')
    .option('--to <date>', 'up to this day, inclusive');
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

type ExportOptions = Filters & { after?: number; follow?: true };

export function addAuditExport(audit: Command, context: Context): void {
  const command = audit
    .command('export')
    .summary('write the audit log as NDJSON, oldest first')
    .description(
      'Writes whole entries as NDJSON in the order of their chain, the oldest first, each with its place and its hash. A later export goes on --after the last place; with --follow it never ends.',
    )
    .option('--after <place>', 'only entries after this place in the chain', wholeNumber(0))
    .option('--follow', 'go on with new entries as they come')
    .action((options: ExportOptions) => exportAudit(context, options));
  withExamples(addFilters(command), [
    'svcctl audit export > audit.ndjson',
    'svcctl audit export --after 18204 --follow | logger -t svcctl-audit',
  ]);
}

const followMillis = 2_000;

async function exportAudit(
  context: Context,
  { after = 0, follow, ...query }: ExportOptions,
): Promise<void> {
  checkDays(query);
  const client = await context.connect();
  // A token that is limited to tenants is told no places, and goes on by cursor.
  for (
    let from: { after: number; cursor?: string } = { after }, isFirst = true;
    ;
    isFirst = false
  ) {
    const read = () =>
      client.text('GET /audit', { query: { ...query, ...from, limit: maxPageRows } });
    const { rows, nextCursor } = parsePage(
      isFirst ? await read() : await withRetries(context.io, read),
    );
    await context.out.write(rows.map((row) => `${row}\n`).join(''));
    const place = membersOf(rows.at(-1) ?? '{}').get('place') ?? from.after;
    from = nextCursor === null ? { after: Number(place) } : { after, cursor: nextCursor };
    if (rows.length === maxPageRows) continue;
    if (follow === undefined) return;
    await context.io.sleep(followMillis, context.io.signal);
  }
}

type Verdict = RouteAnswer<'POST /audit/verify'>;
type VerifyOptions = { head?: string; json?: JsonOption };

const verdictFields = [
  'ok',
  'entries',
  'head',
  'pruned_place',
  'problem_count',
  'problems',
] as const satisfies readonly (keyof Verdict)[];

export function addAuditVerify(audit: Command, context: Context): void {
  const command = audit
    .command('verify')
    .summary('prove that no entry was changed, removed or inserted')
    .description(
      'Computes the hash of each entry anew, and names those that were changed, removed or inserted past svcctl. Somebody who can write to the database could compute all hashes anew: keep the head that this prints elsewhere, and give it the next time.',
    )
    .option(
      '--head <place:hash>',
      'this entry must still be there, as an earlier verification told it',
    )
    .option(jsonFlags, jsonHelp)
    .action((options: VerifyOptions) => verifyAudit(context, options));
  withExamples(command, [
    'svcctl audit verify',
    'svcctl audit verify --json head > audit-head.json',
    'svcctl audit verify --head 18204:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',
  ]);
}

async function verifyAudit(context: Context, { head, json }: VerifyOptions): Promise<void> {
  const client = await context.connect();
  const text = await client.text('POST /audit/verify', { body: { head } });
  const verdict = parseAnswer(text) as Verdict;
  if (json !== undefined) await printObject(context, text, { json, fields: verdictFields });
  else if (verdict.ok) {
    const count = formatNumberOf(verdict.entries, 'entry', 'entries');
    const { pruned_place: place } = verdict;
    const pruned = place === 0 ? '' : `, those up to place ${place} pruned by age`;
    await context.out.write(`ok: ${count}${pruned} · head ${verdict.head}\n`);
  } else {
    await context.out.write(verdict.problems.map(({ message }) => `${message}\n`).join(''));
  }
  if (!verdict.ok) {
    const found = formatNumberOf(verdict.problem_count, 'difference', 'differences');
    throw new AppError('verify_failed', {
      detail: `The audit log is not as it was written: ${found}.`,
    });
  }
}
