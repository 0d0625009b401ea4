import type { ProcessRow } from '../../checks/contract.ts';
import { elementsOf, membersOf } from '../../kernel/json-slices.ts';
import { numberOf } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { fieldsOf } from '../fields.ts';
import { formatBytes } from '../format.ts';
import { createRowPrinter, type JsonOption } from '../output.ts';
import { jsonOption, type Verb } from '../verb.ts';

export const ps: Omit<Verb, 'summary'> = {
  description:
    'Lists the processes of the service on its database: live ones, those that are silent, and those that went without stopping within the last day.',
  examples: ['svcctl ps', 'svcctl ps --json host,pid,roles,state'],
  options: [jsonOption],
  act: listProcesses,
};

const { word, text, count, ago, bytes } = columnsOf<ProcessRow>();

const columns = [
  text('HOST', 'host'),
  count('PID', 'pid', { shown: ({ pid }) => String(pid) }),
  word('ROLES', ({ command, roles }) => (command === 'drain' ? 'svcctl drain' : roles.join(','))),
  word('STATE', 'state', { shown: stateText }),
  word('VERSION', 'version', { givesWay: 4 }),
  ago('SINCE', 'since', { givesWay: 3 }),
  ago('LAST SEEN', 'seen_at', { givesWay: 5 }),
  bytes('DISK FREE', 'disk_free_bytes', { givesWay: 2, shown: diskText }),
  word('URL', 'url', { givesWay: 1 }),
];

async function listProcesses(context: Context, { json }: { json?: JsonOption }): Promise<void> {
  const fields = await fieldsOf(json, 'GET /status', 'processes');
  const printer = createRowPrinter<ProcessRow>(context, { fields, json, columns });
  const client = await context.connect();
  const rows = elementsOf(membersOf(await client.text('GET /status', {})).get('processes') ?? '[]');
  await printer.write(rows);
  await printer.end();
  if (json !== undefined) return;
  context.hint(`${numberOf(rows.length, 'process', 'processes')} · is it well? svcctl doctor`);
}

function stateText({ state, silent_seconds: seconds }: ProcessRow): string {
  return state === 'silent' ? `silent for ${Math.round(seconds)} s` : state;
}

function diskText({ disk_free_bytes: free, disk_total_bytes: total }: ProcessRow): string {
  if (free === null) return '–';
  return total === null ? formatBytes(free) : `${formatBytes(free)} of ${formatBytes(total)}`;
}
