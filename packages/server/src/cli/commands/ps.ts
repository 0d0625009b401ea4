import type { Command } from 'commander';
import type { ProcessRow } from '../../checks/contract.ts';
import { elementsOf, membersOf } from '../../kernel/json-slices.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatNumberOf, formatRelative } from '../format.ts';
import { withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../output.ts';

const fields = [
  'id',
  'host',
  'pid',
  'version',
  'node',
  'command',
  'roles',
  'url',
  'state',
  'since',
  'seen_at',
  'silent_seconds',
  'clock_ahead_ms',
  'disk_free_bytes',
  'disk_total_bytes',
  'store_state',
  'secret_keys',
  'settings',
] as const satisfies readonly (keyof ProcessRow)[];

export function fillPs(command: Command, context: Context): void {
  command
    .description(
      'Lists the processes of the service on its database: live ones, those that are silent, and those that went without stopping within the last day.',
    )
    .option(jsonFlags, jsonHelp)
    .action((options: { json?: JsonOption }) => listProcesses(context, options));
  withExamples(command, ['svcctl ps', 'svcctl ps --json host,pid,roles,state']);
}

async function listProcesses(context: Context, { json }: { json?: JsonOption }): Promise<void> {
  const now = context.io.now();
  const printer = createRowPrinter<ProcessRow>(context, {
    fields,
    json,
    columns: [
      { title: 'HOST', isElastic: true, value: (row) => row.host },
      { title: 'PID', align: 'right', value: (row) => row.pid },
      {
        title: 'ROLES',
        value: ({ command, roles }) => (command === 'drain' ? 'svcctl drain' : roles.join(',')),
      },
      { title: 'STATE', value: (row) => row.state, shown: stateText },
      { title: 'VERSION', givesWay: 4, value: (row) => row.version },
      {
        title: 'SINCE',
        givesWay: 3,
        value: (row) => row.since,
        shown: (row) => formatRelative(row.since, now),
      },
      {
        title: 'LAST SEEN',
        givesWay: 5,
        value: (row) => row.seen_at,
        shown: (row) => formatRelative(row.seen_at, now),
      },
      {
        title: 'DISK FREE',
        align: 'right',
        givesWay: 2,
        value: (row) => row.disk_free_bytes,
        shown: diskText,
      },
      { title: 'URL', givesWay: 1, value: (row) => row.url },
    ],
  });
  const client = await context.connect();
  const rows = elementsOf(membersOf(await client.text('GET /status', {})).get('processes') ?? '[]');
  await printer.write(rows);
  await printer.end();
  if (json === undefined) {
    context.hint(
      `${formatNumberOf(rows.length, 'process', 'processes')} · is it well? svcctl doctor`,
    );
  }
}

function stateText({ state, silent_seconds: seconds }: ProcessRow): string {
  return state === 'silent' ? `silent for ${Math.round(seconds)} s` : state;
}

function diskText({ disk_free_bytes: free, disk_total_bytes: total }: ProcessRow): string {
  if (free === null) return '–';
  return total === null ? formatBytes(free) : `${formatBytes(free)} of ${formatBytes(total)}`;
}
