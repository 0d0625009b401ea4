import { DuckDbError } from './duckdb.ts';
import { describeColumns, type TypedColumn } from './duckdb-types.ts';

/**
 * A DuckDB in this process, for commands that read files. It hands rows on as they come, and reads no faster than they
 * are taken, so that a file of any size needs little memory. The service runs its own in a process apart.
 */
export type DuckDbStream = {
  /** The columns of what a query selects. Throws DuckDbError. */
  describe(query: string): Promise<TypedColumn[]>;
  /** Yields the rows that a query selects, which must all be text, some at a time and by columns. Throws DuckDbError. */
  rows(query: string): AsyncGenerator<Rows>;
  /** Runs a statement that answers nothing. Throws DuckDbError. */
  run(statement: string): Promise<void>;
  close(): void;
};

/** Some rows: for each column a text for each row. */
export type Rows = { readonly count: number; readonly columns: readonly (string | null)[][] };

/** Opens it, in memory. Its queries fail once the signal aborts. */
export async function openDuckDbStream(options: {
  memoryBytes: number;
  threads: number;
  signal: AbortSignal;
}): Promise<DuckDbStream> {
  // Loaded only here: the library is machine code of 60 MB, and the service itself does without it.
  const { DuckDBInstance, DuckDBTypeId } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${Math.floor(options.memoryBytes / 2 ** 20)}MiB`,
    threads: String(options.threads),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connection = await instance.connect();
  await connection.run("set global timezone = 'UTC'");
  const stop = () => connection.interrupt();
  options.signal.addEventListener('abort', stop);
  return {
    describe: (query) => translated(() => describeColumns(connection, query, DuckDBTypeId)),
    async *rows(query) {
      const result = await translated(() => connection.stream(query));
      for (;;) {
        const chunk = await translated(() => result.fetchChunk());
        if (chunk === null || chunk.rowCount === 0) return;
        yield {
          count: chunk.rowCount,
          columns: Array.from(
            { length: chunk.columnCount },
            (_, index) => chunk.getColumnValues(index) as (string | null)[],
          ),
        };
      }
    },
    run: (statement) =>
      translated(async () => {
        await connection.run(statement);
      }),
    close() {
      options.signal.removeEventListener('abort', stop);
      connection.closeSync();
      instance.closeSync();
    },
  };
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new DuckDbError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
