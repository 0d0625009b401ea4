import type { Command } from 'commander';
import { loadSettings } from '../../config/settings.ts';
import { numberOf } from '../../kernel/values.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatBytes } from '../format.ts';
import { withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp, picker } from '../output.ts';

type Options = { dryRun?: true; yes?: true; json?: JsonOption };

/** A table of the cluster, as app.ts knows it. */
type PlacedTable = {
  table: string;
  column: string | null;
  is_distributed: boolean;
  size_bytes: number;
};

const fields = ['table', 'column', 'is_distributed', 'size_bytes'] as const;

export function addDatabaseDistribute(database: Command, context: Context): void {
  const command = database
    .command('distribute')
    .summary('spread the tables over the workers of a Citus cluster')
    .description(
      'Spreads the tables of DATABASE_URL, the coordinator of a Citus cluster, over its workers, by tenant. It is one transaction: whoever writes meanwhile waits, and after ten seconds is told to come back. A service does it by itself at its start while the tables are small.',
    )
    .option('--dry-run', 'only tell what would be done')
    .option('--yes', 'do not ask')
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => distribute(context, options));
  withExamples(command, [
    'svcctl database distribute --dry-run',
    'DATABASE_URL=postgresql://svcctl@coordinator/svcctl svcctl database distribute --yes',
  ]);
}

async function distribute(context: Context, { dryRun, yes, json }: Options): Promise<void> {
  const { io } = context;
  picker(json, fields);
  const settings = loadSettings(io.env);
  const app = await import('../../app.ts');
  const log = app.createLog(io.env.SVC_LOG_LEVEL ? settings.logLevel : 'warn');
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
      await print(context, cluster.tables, json);
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
    await print(context, tables, json);
    if (missing.length === 0) noteState(done);
    else context.note(`${amount} distributed over ${workers}.`);
  });
}

async function print(
  context: Context,
  tables: readonly PlacedTable[],
  json: JsonOption,
): Promise<void> {
  const printer = createRowPrinter<PlacedTable>(context, {
    fields,
    json,
    columns: [
      { title: 'TABLE', value: (row) => row.table },
      { title: 'BY', value: (row) => row.column ?? 'a copy on each' },
      { title: 'STATE', value: (row) => (row.is_distributed ? 'distributed' : 'local') },
      {
        title: 'HERE',
        value: (row) => String(row.size_bytes),
        shown: (row) => formatBytes(row.size_bytes),
      },
    ],
  });
  await printer.write(tables.map((table) => JSON.stringify(table)));
  await printer.end();
}
