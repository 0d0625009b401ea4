import type { ProcessRow } from '../../checks/contract.ts';
import { elementsOf, membersOf } from '../../kernel/json-items.ts';
import { numberOf } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import { formatBytes } from '../format.ts';
import { createRowPrinter } from '../output.ts';
import { command, formatOptions, jsonOption } from '../verb.ts';

export const ps = command({
  description:
    'Lists the processes of the service on its database: live ones, those that are silent, and those that went without stopping within the last day.',
  examples: ['svcctl ps', 'svcctl ps --json host,pid,roles,state'],
  options: [jsonOption, ...formatOptions],
  answers: 'GET /status processes',
  async act(context, { json, output: format, header: hasHeader }) {
    const printer = createRowPrinter<ProcessRow>(context, { json, format, hasHeader, columns });
    const client = await context.connect();
    const answer = membersOf(await client.text('GET /status', {}));
    const rows = elementsOf(answer.get('processes') ?? '[]');
    await printer.write(rows);
    await printer.end();
    if (json !== undefined || format !== undefined) return;
    context.hint(`${numberOf(rows.length, 'process', 'processes')} · is it well? svcctl doctor`);
  },
});

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

function stateText({ state, silent_seconds: seconds }: ProcessRow): string {
  return state === 'silent' ? `silent for ${Math.round(seconds)} s` : state;
}

function diskText({ disk_free_bytes: free, disk_total_bytes: total }: ProcessRow): string {
  if (free === null) return '–';
  return total === null ? formatBytes(free) : `${formatBytes(free)} of ${formatBytes(total)}`;
}
