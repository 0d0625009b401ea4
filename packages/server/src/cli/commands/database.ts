import { numberOf } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import { formatBytes } from '../format.ts';
import { printRows } from '../output.ts';
import { type App, openApp } from '../own-app.ts';
import { jsonOption, type Verbs, verb, yesOption } from '../verb.ts';

type Cluster = Parameters<Parameters<App['withCluster']>[2]>[0];
type PlacedTable = Cluster['tables'][number];

const distribute = verb({
  summary: 'spread the tables over the workers of a Citus cluster',
  description:
    'Spreads the tables of DATABASE_URL, the coordinator of a Citus cluster, over its workers, by tenant. It is one transaction: whoever writes meanwhile waits, and after ten seconds is told to come back. A service does it by itself at its start while the tables are small.',
  examples: [
    'svcctl database distribute --dry-run',
    'DATABASE_URL=postgresql://svcctl@coordinator/svcctl svcctl database distribute --yes',
  ],
  options: [['--dry-run', 'only tell what would be done'], yesOption, jsonOption],
  answers: ['table', 'column', 'is_distributed', 'size_bytes'],
  async act(context, { dryRun, yes, json }) {
    const output = { columns, json };
    const { settings, app, log } = await openApp(context);
    await app.withCluster(settings, log, async (cluster, spread) => {
      const missing = cluster.tables.filter((table) => !table.is_distributed);
      const bytes = missing.reduce((sum, table) => sum + table.size_bytes, 0);
      const amount = `${numberOf(missing.length, 'table')} (${formatBytes(bytes)})`;
      const workers = numberOf(cluster.workers, 'worker');
      const isEmpty = cluster.tables.length === 0;
      const done = isEmpty ? 'No tables yet: start the service' : 'Nothing is left to distribute';
      const noteState = (state: string) =>
        context.note(`${state}; Citus ${cluster.version}, ${workers}.`);
      if (dryRun) {
        await printRows(context, cluster.tables, output);
        noteState(missing.length === 0 ? done : `To do: ${amount}`);
        return;
      }
      if (missing.length > 0) {
        await confirm(context, yes, {
          question: `Distribute ${amount} over ${workers}? Writers wait meanwhile.`,
          act: 'Distribute',
          refused: 'Nothing was distributed.',
        });
      }
      const { tables } = await spread();
      await printRows(context, tables, output);
      if (missing.length === 0) noteState(done);
      else context.note(`${amount} distributed over ${workers}.`);
    });
  },
});

const { word } = columnsOf<PlacedTable>();

const columns = [
  word('TABLE', 'table'),
  word('BY', (row) => row.column ?? 'a copy on each'),
  word('STATE', (row) => (row.is_distributed ? 'distributed' : 'local')),
  word('HERE', 'size_bytes', { shown: (row) => formatBytes(row.size_bytes) }),
];

export const database: Verbs = { distribute };
