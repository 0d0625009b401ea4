// A DuckDB in a process of its own: a memory blow-up or a crash here is an error there, not an outage.
// Takes {id, statements}, {id, describe}, {cancel: id} and {areYouThere} from its parent (duckdb.ts), answers {id, rows},
// {id, error} or {ready}, and ends with its parent. Settings come as JSON in the first argument.
import { type DuckDBConnection, DuckDBInstance, DuckDBTypeId } from '@duckdb/node-api';
import { describeColumns } from './duckdb-types.ts';

type Task = { id: number } & ({ statements: readonly string[] } | { describe: string });

const instance = await DuckDBInstance.create(':memory:', JSON.parse(process.argv[2] ?? '{}'));
const first = await instance.connect();
await first.run("set global timezone = 'UTC'");
const idle = [first];
const running = new Map<number, DuckDBConnection>();

process.on('disconnect', () => process.exit(0));
process.on('message', (message: Task | { cancel: number } | { areYouThere: true }) => {
  if ('cancel' in message) running.get(message.cancel)?.interrupt();
  else if ('areYouThere' in message) process.send?.({ ready: true });
  else void answer(message);
});
process.send?.({ ready: true });

async function answer(task: Task): Promise<void> {
  const { id } = task;
  const connection = idle.pop() ?? (await instance.connect());
  running.set(id, connection);
  try {
    const rows =
      'describe' in task
        ? await describeColumns(connection, task.describe, DuckDBTypeId)
        : await runAll(connection, task.statements);
    process.send?.({ id, rows });
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? error.message : String(error) });
  } finally {
    running.delete(id);
    idle.push(connection);
  }
}

/** Returns the rows of the last statement. */
async function runAll(
  connection: DuckDBConnection,
  statements: readonly string[],
): Promise<unknown[]> {
  let rows: unknown[] = [];
  for (const statement of statements) {
    const reader = await connection.runAndReadAll(statement);
    rows = reader.getRowObjectsJson();
  }
  return rows;
}
