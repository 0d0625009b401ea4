import { AppError } from '../../kernel/errors.ts';
import { type Connection, withLongAnswers } from '../../platform/postgres/database.ts';
import { countSlice, readTagWindows, type Slice, sumLeafDays } from '../../records/index.ts';
import type { Snapshot } from '../encode/both-tiers.ts';
import type { RowPiece } from '../encode/chunk-files.ts';
import type { ExportSource, TierRows } from '../encode/rows.ts';
import { beginLongSnapshot } from '../queries.ts';
import type { Body, BodyOptions } from './format.ts';
import { SpillQueue } from './spill-queue.ts';

/** Opens the rows of a slice as a format encodes them. */
export type OpenRows = (snapshot: Snapshot) => Promise<TierRows>;

/**
 * Opens a snapshot of both tiers, counts the slice and begins to encode it. The database runs ahead into a queue that
 * spills to a file, and its connection is given back after its last row.
 */
export function startBody(
  source: ExportSource,
  slice: Slice,
  { openRows, countsFirst = true, sumsDigest = false }: BodyOptions & { openRows: OpenRows },
): Body {
  const { db } = source;
  const queue = new SpillQueue(source.spillDir, source.spillBytes);
  const aborting = new AbortController();
  const { signal } = aborting;
  let running: Connection | null = null;

  // Its connection is none of its caller's share, which is for what the caller asks meanwhile: exports have their own.
  const inSnapshot = <T>(work: (connection: Connection) => Promise<T>) =>
    db.as('', () =>
      db.withConnection(async (connection) => {
        signal.throwIfAborted();
        running = connection;
        const result = await work(connection);
        running = null;
        signal.throwIfAborted();
        await connection.client.query('commit');
        return result;
      }),
    );
  const push = async (rows: AsyncIterable<RowPiece>) => {
    for await (const piece of rows) {
      // Once no snapshot is held, rows can wait where they are.
      if (piece.length > 0) await queue.push(piece, running === null);
    }
  };
  let encoding: TierRows | null = null;
  const run = async (onCounted: (rowCount: number) => void) => {
    const { rows, rowCount } = await inSnapshot(async (connection) => {
      const asked = { ...source, connection, slice, signal, sumsDigest };
      const snapshot = await openSnapshot(asked);
      const opened = await openRows(snapshot);
      encoding = opened;
      const counted = countsFirst ? await countRows(snapshot) : null;
      if (counted !== null) onCounted(counted);
      await push(opened.whileConnected());
      return { rows: opened, rowCount: counted };
    });
    await push(rows.afterwards());
    if (rowCount === null) {
      onCounted(rows.rowCount);
    } else if (rows.rowCount !== rowCount) {
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
        await queue.filesRead();
      } finally {
        running = null;
        aborting.abort(closed());
        await encoding?.close();
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
  // Whoever reads the chunks also gets this error, so it need not be handled here.
  rowCount.catch(() => {});

  return {
    rowCount,
    rowsSoFar: () => encoding?.rowCount ?? 0,
    digest: () => encoding?.digest?.toString() ?? null,
    chunks: () => queue.chunks(),
    layout: () => encoding?.layout?.() ?? null,
    async close() {
      if (!signal.aborted) void running?.cancel().catch(() => {});
      aborting.abort(closed());
      await queue.close();
      await ending;
    },
  };
}

function closed(): Error {
  return new Error('the export was closed');
}

/** Opens the snapshot: from here on the connection sees one state of all tables. */
async function openSnapshot(asked: Omit<Snapshot, 'isHot'>): Promise<Snapshot> {
  const connection = withLongAnswers(asked.connection);
  await beginLongSnapshot(connection);
  const { tenant } = asked.slice;
  // The tags are needed not only for a slice of a dataset: the column `datasets` shows them, too.
  const tags =
    asked.slice.tags ??
    (tenant === undefined ? undefined : await readTagWindows(connection, tenant));
  const slice = { ...asked.slice, tags };
  const { cold_count } = await sumLeafDays(connection, slice);
  return { ...asked, connection, slice, isHot: cold_count === 0 };
}

async function countRows({ connection, slice, cold }: Snapshot): Promise<number> {
  return (await countSlice(connection, slice, cold)).count;
}
