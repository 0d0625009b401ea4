import { createHash } from 'node:crypto';
import { AppError } from '../kernel/errors.ts';
import { cancelBackend, copyCsv } from '../platform/postgres/copy-out.ts';
import type { Connection, Database } from '../platform/postgres/database.ts';
import { measureSlice, type Slice } from '../records/index.ts';
import type { Profile } from './contract.ts';
import { planColumns, reEncode } from './csv/re-encode.ts';
import { preferKeyOrder, selectRecords } from './queries.ts';
import { SpillQueue } from './spill-queue.ts';

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
  /** Stops the query and frees everything; harmless when all is done. */
  close(): Promise<void>;
};

/** Text columns: always quoted. Numbers and times are not. */
const textColumns = [
  'tenant',
  'store',
  'event_id',
  'kind',
  'source',
  'model',
  'datasets',
  'enrichment',
];

/**
 * Opens one snapshot, counts the slice in it and begins to encode it. The database runs ahead of the
 * reader into a queue that spills to a file, and is released as soon as it has written the last row.
 */
export function startCsvExport(
  db: Database,
  slice: Slice,
  options: CsvOptions,
  spill: { dir: string; maxBytes: number },
): CsvExport {
  const queue = new SpillQueue(spill.dir, spill.maxBytes);
  const sha256 = createHash('sha256');
  let isClosed = false;
  let running: Connection | null = null;
  let cancelling: Promise<void> = Promise.resolve();

  const push = async (chunk: Buffer) => {
    sha256.update(chunk);
    await queue.push(chunk);
  };
  const run = (onCounted: (rowCount: number) => void) =>
    db.withConnection(async (connection) => {
      if (isClosed) throw closed();
      running = connection;
      const rowCount = await openSnapshot(connection, slice);
      onCounted(rowCount);
      await encode(connection, slice, options, { push, rowCount });
      running = null;
      // A cancel on its way must not hit whoever gets this connection next.
      await cancelling;
      if (isClosed) throw closed();
      await connection.client.query('commit');
    });

  let ending: Promise<void> = Promise.resolve();
  const rowCount = new Promise<number>((resolve, reject) => {
    ending = run(resolve)
      .finally(() => {
        running = null;
      })
      .then(
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
      if (!isClosed && running !== null) cancelling = cancelBackend(db, running).catch(() => {});
      isClosed = true;
      await queue.close();
      await ending;
    },
  };
}

function closed(): Error {
  return new Error('the export was closed');
}

/** From here on the connection sees one state of all tables; answers how many records the slice has. */
async function openSnapshot(connection: Connection, slice: Slice): Promise<number> {
  await connection.client.query('begin isolation level repeatable read read only');
  // An export takes as long as it takes; its reader is watched instead.
  await connection.client.query('set local statement_timeout = 0');
  await preferKeyOrder(connection);
  return (await measureSlice(connection, slice)).count;
}

async function encode(
  connection: Connection,
  slice: Slice,
  options: CsvOptions,
  out: { push: (chunk: Buffer) => Promise<void>; rowCount: number },
): Promise<void> {
  const plan = planColumns(options.columns, options.profile);
  const copy = copyCsv(connection, selectRecords(slice, plan.source), {
    header: plan.isPlain && options.header,
    quoted: plan.source.filter((column) => textColumns.includes(column)),
  });
  const chunks = plan.isPlain ? copy : reEncode(copy, plan, options);
  for await (const chunk of chunks) await out.push(chunk as Buffer);
  if (copy.rowCount !== out.rowCount) {
    throw new AppError('internal_error', {
      cause: new Error(`the export has ${copy.rowCount} rows, the leaf ${out.rowCount}`),
    });
  }
}
