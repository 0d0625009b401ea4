import { type Command, Option } from 'commander';
import { type NoticeKind, noticeKinds, type Severity, severities } from '../../checks/values.ts';
import { AppError } from '../../kernel/errors.ts';
import type { RouteAnswer } from '../client.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatNumberOf, formatRelative } from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp, type Output } from '../output.ts';
import { parsePage, printList } from '../pages.ts';

type Target = RouteAnswer<'GET /notify/targets'>['data'][number];
type Notice = RouteAnswer<'GET /notify/notices'>['data'][number];

const targetFields = [
  'id',
  'kind',
  'url',
  'to',
  'kinds',
  'min_severity',
  'enabled',
  'created_by',
  'created_at',
  'last_send',
] as const satisfies readonly (keyof Target)[];

export function addNotifyLs(notify: Command, context: Context): void {
  const command = notify
    .command('ls')
    .summary('list who is told, and whether it arrives')
    .description('Lists who is told of what is wrong, and how the last message to each fared.')
    .option(jsonFlags, jsonHelp)
    .action((options: { json?: JsonOption }) => list(context, options));
  withExamples(command, ['svcctl notify ls', 'svcctl notify ls --json id,url,to,last_send']);
}

async function list(context: Context, { json }: { json?: JsonOption }): Promise<void> {
  const now = context.io.now();
  const printer = createRowPrinter<Target>(context, {
    fields: targetFields,
    json,
    columns: [
      { title: 'ID', value: (row) => row.id },
      { title: 'TOLD', isElastic: true, isCutInMiddle: true, value: addressOf },
      { title: 'OF', isElastic: true, value: (row) => row.kinds?.join(',') ?? 'all' },
      { title: 'FROM', value: (row) => row.min_severity },
      { title: 'STATE', value: (row) => (row.enabled ? 'on' : 'off') },
      {
        title: 'LAST',
        value: ({ last_send }) => last_send?.state ?? null,
        shown: ({ last_send: last }) =>
          last === null
            ? 'nothing yet'
            : `${lastTexts[last.state]} ${formatRelative(last.at, now)}`,
      },
      {
        title: 'ERROR',
        isElastic: true,
        givesWay: 1,
        value: ({ last_send }) => last_send?.error ?? null,
      },
    ],
  });
  const client = await context.connect();
  const { rows } = parsePage(await client.text('GET /notify/targets', {}));
  await printer.write(rows);
  await printer.end();
  if (!context.isTerminal || json !== undefined) return;
  context.hint(
    rows.length === 0
      ? 'Nobody is told. Add somebody: svcctl notify add --webhook https://…'
      : `${formatNumberOf(rows.length, 'target')} · try one: svcctl notify test ID`,
  );
}

const lastTexts = { queued: 'being sent', delivered: 'arrived', given_up: 'given up' } as const;

function addressOf({ url, to }: Pick<Target, 'url' | 'to'>): string {
  return url ?? to ?? '';
}

/** What a target is told, as options. */
type Wishes = { kind?: (NoticeKind | 'all')[]; severity?: Severity };

function addWishes(command: Command): Command {
  return command
    .addOption(
      new Option('--kind <kind...>', 'tell of these only; all: of everything').choices([
        ...noticeKinds,
        'all',
      ]),
    )
    .addOption(
      new Option('--severity <severity>', 'tell what matters as much, or more').choices(severities),
    );
}

function wishesBody({ kind, severity }: Wishes) {
  const kinds = kind?.filter((each) => each !== 'all');
  return { kinds: kind?.includes('all') ? null : kinds, min_severity: severity };
}

type AddOptions = Wishes & { webhook?: string; email?: string; json?: true };

export function addNotifyAdd(notify: Command, context: Context): void {
  const command = notify
    .command('add')
    .summary('have somebody told')
    .description(
      'Has somebody told of what is wrong: when it begins, once a day while it lasts, and when it is over. For a webhook it prints the secret that notices are signed with, this once, alone on stdout.',
    )
    .option('--webhook <url>', 'where notices are posted, https')
    .option('--email <address>', 'where they are mailed, instead of a webhook');
  addWishes(command)
    .option('--json', 'print the whole answer as JSON')
    .action((options: AddOptions) => add(context, options));
  withExamples(command, [
    'svcctl notify add --webhook https://pager.acme.example/svcctl > secret.txt',
    'svcctl notify add --webhook https://chat.acme.example/in --kind export_done export_failed',
    'svcctl notify add --email ops@acme.example --severity critical',
  ]);
}

async function add(context: Context, options: AddOptions): Promise<void> {
  const { webhook: url, email: to } = options;
  if ((url === undefined) === (to === undefined)) {
    throw new AppError('usage_invalid', { detail: 'Give either --webhook or --email.' });
  }
  const client = await context.connect();
  const kind = url === undefined ? ('email' as const) : ('webhook' as const);
  const body = { kind, url, to, ...wishesBody(options) };
  const made = await client.json('POST /notify/targets', { body });
  if (options.json) await context.out.write(`${JSON.stringify(made)}\n`);
  else if (made.secret !== null) await context.out.write(`${made.secret}\n`);
  const secret = made.secret === null ? '' : ' The secret is shown only this once.';
  context.note(`Added ${made.id}: ${addressOf(made)}.${secret}`);
  context.hint(`try it: svcctl notify test ${made.id}`);
}

type ChangeOptions = Wishes & { on?: true; off?: true };

export function addNotifyChange(notify: Command, context: Context): void {
  const command = notify
    .command('change')
    .summary('change what somebody is told')
    .description('Changes what somebody is told, or whether at all.')
    .argument('<id>', 'the target’s id, as svcctl notify ls prints it');
  addWishes(command)
    .option('--off', 'tell nothing for now')
    .option('--on', 'tell again')
    .action((id: string, options: ChangeOptions) => change(context, id, options));
  withExamples(command, [
    'svcctl notify change ntt_4fTq9Zx7Kq2LmN0p --severity critical',
    'svcctl notify change ntt_4fTq9Zx7Kq2LmN0p --kind all',
    'svcctl notify change ntt_4fTq9Zx7Kq2LmN0p --off',
  ]);
}

async function change(context: Context, id: string, options: ChangeOptions): Promise<void> {
  if (options.on && options.off) {
    throw new AppError('usage_invalid', { detail: 'Give either --on or --off.' });
  }
  const enabled = options.on ? true : options.off ? false : undefined;
  const body = { ...wishesBody(options), enabled };
  if (Object.values(body).every((value) => value === undefined)) {
    throw new AppError('usage_invalid', {
      detail: 'Say what to change: --kind, --severity, --on or --off.',
    });
  }
  const client = await context.connect();
  const row = await client.json('PATCH /notify/targets/:id', { params: { id }, body });
  const of = row.kinds === null ? 'everything' : row.kinds.join(', ');
  context.note(
    row.enabled
      ? `${id} (${addressOf(row)}) is told of ${of}, from ${row.min_severity} on.`
      : `${id} (${addressOf(row)}) is told nothing for now.`,
  );
}

export function addNotifyRm(notify: Command, context: Context): void {
  const command = notify
    .command('rm')
    .summary('tell somebody nothing more')
    .description('Removes a target. What waits to be sent to it is dropped.')
    .argument('<id>', 'the target’s id, as svcctl notify ls prints it')
    .option('--yes', 'do not ask')
    .action((id: string, options: { yes?: true }) => remove(context, id, options));
  withExamples(command, [
    'svcctl notify rm ntt_4fTq9Zx7Kq2LmN0p',
    'svcctl notify rm ntt_4fTq9Zx7Kq2LmN0p --yes',
  ]);
}

async function remove(context: Context, id: string, { yes }: { yes?: true }): Promise<void> {
  const client = await context.connect();
  await confirm(context, yes, {
    question: `Remove ${id}? It is told nothing more.`,
    act: 'Remove',
    refused: 'Nothing was removed.',
  });
  await client.json('DELETE /notify/targets/:id', { params: { id } });
  context.note(`Removed ${id}.`);
}

export function addNotifyTest(notify: Command, context: Context): void {
  const command = notify
    .command('test')
    .summary('send a test, and say how it went')
    .description('Sends a test to a target now, once, and fails when it does not arrive.')
    .argument('<id>', 'the target’s id, as svcctl notify ls prints it')
    .option('--json', 'print the answer as JSON')
    .action((id: string, options: { json?: true }) => test(context, id, options));
  withExamples(command, [
    'svcctl notify test ntt_4fTq9Zx7Kq2LmN0p',
    'svcctl notify test ntt_4fTq9Zx7Kq2LmN0p --json',
  ]);
}

async function test(context: Context, id: string, { json }: { json?: true }): Promise<void> {
  const client = await context.connect();
  const result = await client.json('POST /notify/targets/:id/test', { params: { id } });
  if (json) await context.out.write(`${JSON.stringify(result)}\n`);
  if (!result.delivered) {
    throw new AppError('notice_undelivered', {
      detail: `The test did not reach ${id}: ${result.error}`,
    });
  }
  context.note(`The test reached ${id} in ${result.duration_ms} ms.`);
}

const noticeFields = [
  'id',
  'kind',
  'severity',
  'subject',
  'tenant',
  'title',
  'advice',
  'place',
  'since',
  'told_at',
  'ended_at',
  'created_at',
] as const satisfies readonly (keyof Notice)[];

export function addNotifyLog(notify: Command, context: Context): void {
  const command = notify
    .command('log')
    .summary('list what was told')
    .description('Lists what was told, the newest first, also when there was nobody to tell it to.')
    .option('--limit <number>', 'rows, at most (default: 100)', wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: { limit?: number; json?: JsonOption }) => log(context, options));
  withExamples(command, ['svcctl notify log', 'svcctl notify log --json kind,since,ended_at']);
}

async function log(
  context: Context,
  { limit = 100, json }: { limit?: number; json?: JsonOption },
): Promise<void> {
  const now = context.io.now();
  const output: Output<Notice> = {
    fields: noticeFields,
    json,
    columns: [
      { title: 'SEVERITY', value: (row) => row.severity },
      { title: 'KIND', givesWay: 1, value: (row) => row.kind },
      { title: 'WHAT', isElastic: true, leastWidth: 24, value: (row) => row.title },
      {
        title: 'SINCE',
        value: (row) => row.since,
        shown: (row) => formatRelative(row.since, now),
      },
      {
        title: 'OVER',
        value: (row) => row.ended_at,
        shown: (row) => (row.ended_at === null ? 'no' : formatRelative(row.ended_at, now)),
      },
    ],
  };
  await printList(context, output, {
    route: 'GET /notify/notices',
    query: {},
    most: limit,
    tell: ({ printed }) =>
      printed === 0 ? 'Nothing was told yet.' : formatNumberOf(printed, 'notice'),
  });
}
