import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { AppError } from '../kernel/errors.ts';
import { giveWay, type Yielding } from './duckdb-priority.ts';
import type { TypedColumn } from './duckdb-types.ts';
import type { Log } from './log.ts';
import { unlessAborted } from './work/unless-aborted.ts';

/** Runs DuckDB SQL in a child process: it cannot block the event loop, and the service survives its crash. */
export type DuckDb = {
  /**
   * Runs the statements one after another and returns the rows of the last one. 64-bit integers come as decimal text.
   * Several calls run at the same time, each on a connection of its own. Throws 503 `cold_tier_unavailable` when the
   * process dies or the query takes longer than `timeoutMillis` (a minute by default), the reason of the signal when it
   * aborts, and DuckDbError when DuckDB refuses a statement.
   */
  run<R extends Record<string, unknown>>(
    statements: string | readonly string[],
    options?: RunOptions,
  ): Promise<R[]>;
  /** Returns the columns of what a query selects. Throws what `run` throws. */
  describe(query: string, options?: { signal?: AbortSignal | undefined }): Promise<TypedColumn[]>;
  /** Returns the id of the process that runs now; undefined when none does. */
  pid(): number | undefined;
  /** Ends the process. What still runs in it fails. */
  close(): Promise<void>;
};

type RunOptions = { signal?: AbortSignal | undefined; timeoutMillis?: number };

/** What DuckDB refused: a file it cannot read, too little memory, or SQL that is wrong. */
export class DuckDbError extends Error {}

/** Why a 503 of DuckDB came: its process ended, or did not answer in time. The store is not at fault. */
export class DuckDbAway extends DuckDbError {}

/** Returns whether DuckDB had too little memory for its task. That is not the fault of a file. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof DuckDbError && /out of memory/i.test(error.message);
}

/** Returns whether DuckDB had no room left on the disk for its task. */
export function isOutOfDisk(error: unknown): boolean {
  return (
    error instanceof DuckDbError &&
    /no space left on device|max_temp_directory_size/i.test(error.message)
  );
}

type DuckDbOptions = {
  memoryBytes: number;
  threads: number;
  /** The folder for data that does not fit into memory. */
  tempDir: string;
  /** The priority of the process, from 0, the service's own, to 19, with which it gives way to everybody. */
  niceness: number;
  /** The process ends after so long without a query, which frees its memory. When this is unset, it stays. */
  idleMillis?: number;
  /**
   * Whether DuckDB keeps what it read of files for later queries, as it does by default. Where most files are read once,
   * this only fills its memory: with it, 4,000 segments of 50 records took 230 MiB and 0.94 ms of CPU time each, and
   * 60 MiB and 0.74 ms without it.
   */
  cachesFiles?: boolean;
  /** How long a process whose query was given up may take to say that it is there, 10 s by default. */
  lifeSignMillis?: number;
  /** How often it is looked whether a process that gives way gets on, 10 s by default. */
  lookMillis?: number;
  log: Log;
};

/** What `npm run build` makes of duckdb-worker.ts and the library: one file, because their 180 take 0.15 s to load. */
const worker = fileURLToPath(new URL('../../dist/service/duckdb-worker.js', import.meta.url));
const queryMillis = 60_000;
/** What DuckDB says to everything after a fatal error, until it is started anew. */
const isUseless = /^[\w ]+ Error: Failed: database has been invalidated/;

type Pending = { settle: (rows: unknown) => void; refuse: (error: unknown) => void };
type Answer = { ready?: true; id: number; rows?: unknown; error?: string };

/** The process starts with the first query, and starts again with the first query after it died. */
export function createDuckDb(options: DuckDbOptions): DuckDb {
  const pending = new Map<number, Pending>();
  let child: ChildProcess | null = null;
  let yielding: Yielding | undefined;
  let lastId = 0;
  let isClosed = false;
  let idle: NodeJS.Timeout | undefined;

  /** Starts the clock for an idle process, or stops it when a query waits for an answer again. */
  function watchIdle(): void {
    clearTimeout(idle);
    if (pending.size > 0) yielding?.begin();
    else yielding?.end();
    if (options.idleMillis === undefined || pending.size > 0) return;
    idle = setTimeout(() => {
      const ending = child;
      child = null;
      ending?.kill('SIGKILL');
    }, options.idleMillis);
    idle.unref();
  }

  function start(): ChildProcess {
    const started = forkWorker(options);
    yielding = giveWay(started, options);
    let detail: string | undefined = neverStarts;
    started.once('message', () => (detail = undefined));
    started.on('message', (message) => settle(message as Answer, started));
    started.on('error', (error) => lose(started, error));
    started.on('exit', (code, signal) =>
      lose(started, new Error(`the DuckDB process ended (${signal ?? code})`), detail),
    );
    return started;
  }

  function settle({ id, rows, error }: Answer, by: ChildProcess): void {
    const waiting = pending.get(id);
    if (isUseless.test(error ?? '')) lose(by, new Error(error));
    else if (error === undefined) waiting?.settle(rows);
    else waiting?.refuse(new DuckDbError(error));
    pending.delete(id);
    watchIdle();
  }

  /** Fails everything that waits for a process that has died, or must. The next query starts another one. */
  function lose(lost: ChildProcess, cause: Error, detail?: string): void {
    if (child !== lost) return;
    child = null;
    lost.kill('SIGKILL');
    if (!isClosed) options.log.error({ err: cause }, 'DuckDB is started anew');
    for (const { refuse } of pending.values()) refuse(unavailable(cause, detail));
    pending.clear();
  }

  /** Sends a task to the process, which is started if need be, and returns what it answers. */
  async function ask<R>(
    task: { statements: readonly string[] } | { describe: string },
    { signal, timeoutMillis = queryMillis }: RunOptions,
  ): Promise<R[]> {
    if (isClosed) throw unavailable(new Error('DuckDB is closed'));
    signal?.throwIfAborted();
    child ??= start();
    const target = child;
    const id = ++lastId;
    const answer = new Promise<unknown>((settle, refuse) => pending.set(id, { settle, refuse }));
    watchIdle();
    target.send({ id, ...task }, (error) => {
      if (error !== null) lose(target, error);
    });
    const timer = setTimeout(() => {
      pending.get(id)?.refuse(unavailable(new Error(`no answer within ${timeoutMillis} ms`)));
      endUnlessAlive(target, options.lifeSignMillis);
    }, timeoutMillis);
    try {
      return (await unlessAborted(answer, signal)) as R[];
    } finally {
      clearTimeout(timer);
      // Nobody waits for the answer any more.
      if (pending.delete(id)) {
        watchIdle();
        if (target.connected) target.send({ cancel: id });
      }
    }
  }

  return {
    run: (statements, options = {}) =>
      ask({ statements: typeof statements === 'string' ? [statements] : statements }, options),
    describe: (query, options = {}) => ask<TypedColumn>({ describe: query }, options),
    pid: () => child?.pid,
    async close() {
      isClosed = true;
      clearTimeout(idle);
      const ending = child;
      if (ending === null) return;
      ending.kill('SIGKILL');
      await once(ending, 'exit');
    },
  };
}

/** Kills a process that does not even say that it is there, as a frozen one: the next query starts another. */
function endUnlessAlive(asked: ChildProcess, millis = 10_000): void {
  const timer = setTimeout(() => asked.kill('SIGKILL'), millis);
  timer.unref();
  asked.once('message', () => clearTimeout(timer));
  if (asked.connected) asked.send({ areYouThere: true });
}

/** Starts the process that runs the queries, with its limits. */
function forkWorker(options: DuckDbOptions): ChildProcess {
  const { memoryBytes, threads, tempDir, cachesFiles = true } = options;
  const settings = {
    memory_limit: `${Math.floor(memoryBytes / 2 ** 20)}MiB`,
    threads: String(threads),
    temp_directory: tempDir,
    enable_external_file_cache: String(cachesFiles),
    // Memory that queries let go of returns to the system soon. Without these, a process that had written Parquet
    // held 335 MiB for good; with them it reaches 237 MiB, and 114 MiB are left when it rests, for no more CPU.
    allocator_background_threads: 'true',
    allocator_flush_threshold: '8MiB',
    allocator_bulk_deallocation_flush_threshold: '8MiB',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  };
  return fork(worker, [JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
    // Each query occupies a thread of this pool, so up to eight of them run side by side.
    env: { ...process.env, UV_THREADPOOL_SIZE: '8' },
  });
}

const neverStarts =
  'DuckDB, which reads and writes cold data, does not start here: the log of the service says why.';

function unavailable(
  cause: Error,
  detail = 'Cold data cannot be read at the moment. Try again in a few seconds.',
): AppError {
  const away = new DuckDbAway(cause.message, { cause });
  return new AppError('cold_tier_unavailable', { detail, retryAfterSeconds: 5, cause: away });
}

/** Quotes text as a literal of DuckDB's SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Quotes the path of one file, which DuckDB would take for a pattern otherwise. */
export function fileLiteral(path: string): string {
  return literal(path.replace(/[*?[]/g, '[$&]'));
}
