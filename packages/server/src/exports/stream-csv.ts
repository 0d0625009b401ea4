import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../kernel/errors.ts';
import type { Gate } from '../kernel/gate.ts';
import { cancelBackend } from '../platform/postgres/copy-out.ts';
import type { Connection, Database } from '../platform/postgres/database.ts';
import {
  type ColdReader,
  type CutOptions,
  isCounted,
  measureSlice,
  type Slice,
  sumTiers,
} from '../records/index.ts';
import type { Profile } from './contract.ts';
import { createReEncoder, planColumns } from './csv/re-encode.ts';
import { preferKeyOrder } from './queries.ts';
import { SpillQueue } from './spill-queue.ts';
import { type BothTiers, readBothTiers } from './tiers/both-tiers.ts';
import { readHotRows } from './tiers/hot-rows.ts';
import type { TierRows } from './tiers/tier-rows.ts';

/** Re-encoded between two turns of the event loop, 2 ms or so: pages are answered in between. */
const turnBytes = 64 * 1024;

export type CsvOptions = {
  columns: readonly string[];
  header: boolean;
  profile: Profile;
};

export type CsvExport = {
  /** Records of the slice, in the snapshot that the rows come from. Rejects if it cannot be opened. */
  readonly rowCount: Promise<number>;
  /** The file's bytes. Ends with an error, and then it is not whole, unless exactly `rowCount` rows came. */
  chunks(): AsyncGenerator<Buffer>;
  /** SHA-256 of all bytes, once `chunks` has ended. */
  sha256(): Buffer;
  /** Stops the queries and frees everything; harmless when all is done. */
  close(): Promise<void>;
};

export type CsvSource = {
  db: Database;
  cold: ColdReader;
  /** For what the database has encoded and the reader has not taken yet. */
  spillDir: string;
  spillBytes: number;
  /** A folder of this process, cleared when it starts: for what DuckDB encodes ahead. */
  spoolDir: string;
  /** Chunks of cold rows are encoded through it, of all exports together. */
  encoders: Gate;
  /** How finely slices with cold records are cut; usually left out. */
  cut?: CutOptions;
};

/**
 * Opens one snapshot of both tiers, counts the slice in it and begins to encode it. The database runs
 * ahead of the reader into a queue that spills to a file, and is released as soon as it has written its
 * last row; of cold rows a few chunks are encoded ahead.
 */
export function startCsvExport(source: CsvSource, slice: Slice, options: CsvOptions): CsvExport {
  const { db } = source;
  const queue = new SpillQueue(source.spillDir, source.spillBytes);
  const sha256 = createHash('sha256');
  const aborting = new AbortController();
  const { signal } = aborting;
  let running: Connection | null = null;
  let cancelling: Promise<void> = Promise.resolve();

  const inSnapshot = <T>(work: (connection: Connection) => Promise<T>) =>
    db.withConnection(async (connection) => {
      signal.throwIfAborted();
      running = connection;
      const result = await work(connection);
      running = null;
      // A cancel on its way must not hit whoever gets this connection next.
      await cancelling;
      signal.throwIfAborted();
      await connection.client.query('commit');
      return result;
    });
  const plan = planColumns(options.columns, options.profile);
  const encoder = createReEncoder(plan, options);
  const push = async (bytes: Buffer) => {
    if (bytes.length === 0) return;
    sha256.update(bytes);
    // Once no snapshot is held, rows can wait where they are.
    await queue.push(bytes, running === null);
  };
  const encode = async (rows: AsyncIterable<Buffer>) => {
    for await (const piece of rows) {
      const step = plan.isPlain ? piece.length : turnBytes;
      for (let at = 0; at < piece.length; at += step) {
        await push(encoder.encode(piece.subarray(at, at + step)));
        if (!plan.isPlain) await nextTurn();
      }
    }
  };
  let close = async () => {};
  const run = async (onCounted: (rowCount: number) => void) => {
    const { rows, rowCount } = await inSnapshot(async (connection) => {
      const snapshot = { ...source, connection, slice, columns: plan.source, signal };
      const opened = await openRows(snapshot);
      close = () => opened.rows.close();
      onCounted(opened.rowCount);
      await push(encoder.head);
      await encode(opened.rows.whileConnected());
      return opened;
    });
    await encode(rows.afterwards());
    if (rows.rowCount !== rowCount) {
      throw new AppError('internal_error', {
        cause: new Error(`the export has ${rows.rowCount} rows, the leaf ${rowCount}`),
      });
    }
  };

  let ending: Promise<void> = Promise.resolve();
  const rowCount = new Promise<number>((resolve, reject) => {
    const finish = async () => {
      try {
        await run(resolve);
      } finally {
        running = null;
        aborting.abort(closed());
        await close();
      }
    };
    ending = finish().then(
      () => queue.end(),
      (error: unknown) => {
        queue.fail(error);
        reject(error);
      },
    );
  });

  return {
    rowCount,
    chunks: () => queue.chunks(),
    sha256: () => sha256.digest(),
    async close() {
      if (!signal.aborted && running !== null) {
        cancelling = cancelBackend(db, running).catch(() => {});
      }
      aborting.abort(closed());
      await queue.close();
      await ending;
    },
  };
}

function closed(): Error {
  return new Error('the export was closed');
}

/** From here on the connection sees one state of all tables. What is all hot does not start DuckDB. */
async function openRows(snapshot: BothTiers): Promise<{ rows: TierRows; rowCount: number }> {
  const { connection, slice, columns, cold } = snapshot;
  await connection.client.query('begin isolation level repeatable read read only');
  // An export takes as long as it takes; its reader is watched instead.
  await connection.client.query('set local statement_timeout = 0');
  await preferKeyOrder(connection);
  const { count, cold_count } = await sumTiers(connection, slice);
  const rows =
    cold_count > 0 && slice.dataset === undefined
      ? await readBothTiers(snapshot)
      : readHotRows(connection, slice, columns);
  try {
    if (isCounted(slice)) return { rows, rowCount: count };
    return { rows, rowCount: (await measureSlice(connection, slice, cold)).count };
  } catch (error) {
    await rows.close();
    throw error;
  }
}
