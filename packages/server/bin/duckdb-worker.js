// A DuckDB in a process of its own: a memory blow-up or a crash here is an error there, not an outage.
// Takes {id, statements} and {cancel: id} from its parent, answers {id, rows} or {id, error}, and ends
// with its parent. Settings come as JSON in the first argument.
import { DuckDBInstance } from '@duckdb/node-api';

const settings = JSON.parse(process.argv[2]);
const instance = await DuckDBInstance.create(':memory:', settings);
const idle = [await instance.connect()];
await idle[0].run("set global timezone = 'UTC'");
const running = new Map();

process.on('disconnect', () => process.exit(0));
process.on('message', (message) => {
  if (message.cancel !== undefined) running.get(message.cancel)?.interrupt();
  else void answer(message);
});
process.send({ ready: true });

async function answer({ id, statements }) {
  const connection = idle.pop() ?? (await instance.connect());
  running.set(id, connection);
  try {
    let rows = [];
    for (const statement of statements) {
      const reader = await connection.runAndReadAll(statement);
      rows = reader.getRowObjectsJson();
    }
    process.send({ id, rows });
  } catch (error) {
    process.send({ id, error: error instanceof Error ? error.message : String(error) });
  } finally {
    running.delete(id);
    idle.push(connection);
  }
}
