// A DuckDB in a process of its own: a memory blow-up or a crash here is an error there, not an outage.
// Takes {id, statements}, {id, describe} and {cancel: id} from its parent, answers {id, rows} or {id, error}, and
// ends with its parent. Settings come as JSON in the first argument.
import { DuckDBInstance, DuckDBTypeId } from '@duckdb/node-api';

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

async function answer({ id, statements = [], describe }) {
  const connection = idle.pop() ?? (await instance.connect());
  running.set(id, connection);
  try {
    let rows = describe === undefined ? [] : await columnsOf(connection, describe);
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

/** The names and types of the columns that a query selects. */
async function columnsOf(connection, query) {
  const result = await connection.stream(`select * from (${query}) limit 0`);
  return result.columnNames().map((name, index) => ({
    name,
    type: named(result.columnTypeJson(index)),
    text: result.columnType(index).toString(),
  }));
}

/** Spells the kinds of types, which are numbers in the library. */
function named(type) {
  return {
    ...type,
    kind: DuckDBTypeId[type.typeId] ?? 'unknown',
    entryTypes: type.entryTypes?.map(named),
    keyType: type.keyType && named(type.keyType),
    valueType: type.valueType && named(type.valueType),
  };
}
