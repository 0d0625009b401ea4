import { sumDigests } from '../../kernel/digest.ts';
import { AppError } from '../../kernel/errors.ts';
import { copyCsv } from '../../platform/postgres/copy.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import {
  type Chunk,
  isCounted,
  type KeyRange,
  type OpenSegments,
  openSegments,
  planSteps,
  type Slice,
  type Step,
  usualCut,
} from '../../records/index.ts';
import {
  bytesOf,
  type ChunkFile,
  type ChunkFiles,
  createChunkFiles,
  type Encoded,
  type RowPiece,
} from './chunk-files.ts';
import { copyChunkSql, sumChunkSql } from './chunk-sql.ts';
import { cellQuote } from './csv-cells.ts';
import { mergeRows } from './merge-rows.ts';
import { selectRecords } from './queries.ts';
import {
  type ExportSource,
  jsonDialect,
  quotedColumns,
  type RowForm,
  type TierRows,
} from './rows.ts';

/** A connection that is in the snapshot, and the slice with its tags. */
export type Snapshot = ExportSource & {
  connection: Connection;
  slice: Slice;
  /** Whether no record of the slice is cold. Then one COPY reads it, and DuckDB is not started for it. */
  isHot: boolean;
  /** Whether the digest of the cold records is computed where they are encoded. */
  sumsDigest: boolean;
  /** Cancels what DuckDB is doing. */
  signal: AbortSignal;
};

/** Cold rows that are to be read from the local files of their segments. */
export type ColdPiece = { readonly chunk: Chunk; readonly pathOf: (segmentId: string) => string };

/** The time limit for one chunk. Sorting a store's day of millions of records out of several segments takes long. */
const chunkMillis = 600_000;
/** A chunk's share of `spillBytes`: there are three files at most, and CSV is up to twice as large as NDJSON. */
const spillShare = 6;
/** How many steps are started ahead. Their chunks wait for their turn, and there may be hot steps between them. */
const stepsAhead = 8;

/** A step whose chunks are being encoded. */
type Started = { step: Step; files: Promise<ChunkFile>[] };

type OnRows = (rows: Encoded) => void;

/** How to read the steps that are all cold. */
type ColdSteps<Piece> = {
  /** Whether DuckDB writes the chunks of these steps to files ahead. */
  readonly isWritten: boolean;
  read(started: Started, segments: OpenSegments, onRows: OnRows): AsyncGenerator<Piece>;
};

/**
 * Reads a slice step by step in key order: hot steps by COPY, cold ones out of files that DuckDB writes ahead, mixed
 * ones by merging both. The connection is needed until the last hot row was read. Throws 500 `segment_damaged`, 503
 * `cold_tier_unavailable`.
 */
export function readRows(snapshot: Snapshot, form: RowForm): Promise<TierRows> {
  return readSteps(snapshot, form, {
    isWritten: true,
    read: ({ files }, _segments, onRows) => readFiles(files, onRows),
  });
}

/** Reads a slice, but hands on cold steps as references to local files, whose rows `rowCount` does not count. */
export function readPieces(
  snapshot: Snapshot,
  form: RowForm,
): Promise<TierRows<Buffer | ColdPiece>> {
  // The chunks need not begin small: nothing is sent before a whole row group is full.
  const cut = snapshot.cut ?? { ...usualCut, firstRows: usualCut.chunkRows };
  return readSteps<Buffer | ColdPiece>({ ...snapshot, cut }, form, {
    isWritten: false,
    async *read({ step }, segments) {
      for (const chunk of step.chunks) yield { chunk, pathOf: await openPaths(chunk, segments) };
    },
  });
}

async function readSteps<Piece>(
  source: Snapshot,
  form: RowForm,
  coldSteps: ColdSteps<Piece | Buffer>,
): Promise<TierRows<Piece | Buffer>> {
  const { db, cold, connection, slice, signal } = source;
  if (source.isHot) return readHotRows(connection, slice, form);
  const segments = await openSegments(connection, slice, { objects: cold.objects, db, signal });
  let files: ChunkFiles;
  try {
    files = await createChunkFiles({
      spoolDir: source.spoolDir,
      encoders: source.encoders,
      encode: (chunk, target) => encodeChunk(chunk, { ...source, ...target, form, segments }),
    });
  } catch (error) {
    await segments.release();
    throw error;
  }
  const close = async () => {
    await files.close();
    await segments.release();
  };
  try {
    const chunkBytes = Math.min(usualCut.chunkBytes, source.spillBytes / spillShare);
    const plan = await planSteps(connection, slice, source.cut ?? { ...usualCut, chunkBytes });
    const ahead: Started[] = [];
    let rowCount = 0;
    let digest: bigint | null = source.sumsDigest ? 0n : null;
    const onRows: OnRows = (rows) => {
      rowCount += rows.rowCount;
      digest = digest === null || rows.digest === null ? null : sumDigests([digest, rows.digest]);
    };
    const needsConnection = () =>
      !plan.isComplete || plan.hotStepsLeft > 0 || ahead.some(({ step }) => step.hotCount > 0);
    const startAhead = () => {
      while (ahead.length < stepsAhead) {
        const step = plan.take();
        if (step === undefined) return;
        const isKeyed = step.hotCount > 0;
        const written = isKeyed || coldSteps.isWritten ? step.chunks : [];
        ahead.push({ step, files: written.map((chunk) => files.start(chunk, isKeyed)) });
      }
    };
    const readWhile = async function* (isWanted: () => boolean): AsyncGenerator<Piece | Buffer> {
      for (;;) {
        // The steps that are known begin to be encoded while more are asked for.
        startAhead();
        await plan.readAhead();
        startAhead();
        const started = isWanted() ? ahead.shift() : undefined;
        if (started === undefined) return;
        if (started.step.hotCount === 0) yield* coldSteps.read(started, segments, onRows);
        else yield* readHotStep(started, { connection, slice, form, onRows });
      }
    };
    return {
      whileConnected: () => readWhile(needsConnection),
      afterwards: () => readWhile(() => true),
      get rowCount() {
        return rowCount;
      },
      get digest() {
        return digest;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Reads a step that has hot rows: by COPY if it is all hot, otherwise merged with its cold chunks. */
async function* readHotStep(
  { step, files }: Started,
  target: { connection: Connection; slice: Slice; form: RowForm; onRows: OnRows },
): AsyncGenerator<Buffer> {
  const { connection, slice, form, onRows } = target;
  const { range } = step;
  if (files.length === 0) {
    const copy = copyHotRows(connection, slice, { form, range });
    yield* copy as AsyncIterable<Buffer>;
    onRows({ rowCount: await copy.counted, digest: null });
    return;
  }
  const hot = copyHotRows(connection, slice, { form, range, isKeyed: true });
  const cold = bytesOf(readFiles(files, () => {}));
  yield* mergeRows(hot, cold, {
    kind: form.kind,
    onRows: (rowCount) => onRows({ rowCount, digest: null }),
  });
}

async function* readFiles(
  files: readonly Promise<ChunkFile>[],
  onRows: OnRows,
): AsyncGenerator<RowPiece> {
  for (const making of files) {
    const file = await making;
    yield file.piece;
    onRows(file);
  }
}

/** Lets DuckDB write a chunk to a file. Throws if the catalogue has another number of rows. */
async function encodeChunk(
  chunk: Chunk,
  target: Snapshot & { segments: OpenSegments; form: RowForm; isKeyed: boolean; path: string },
): Promise<Encoded> {
  const { cold, slice, signal, segments, sumsDigest } = target;
  const pathOf = await openPaths(chunk, segments);
  const options = { signal, timeoutMillis: chunkMillis };
  const [copied] = await cold.duckdb.run<{ Count: string }>(
    copyChunkSql(chunk, { ...target, pathOf }),
    options,
  );
  const rowCount = Number(copied?.Count);
  if (isCounted(slice)) assertCount(rowCount, chunk.count);
  if (!sumsDigest || target.isKeyed) return { rowCount, digest: null };
  const [summed] = await cold.duckdb.run<{ rows: string; digest: string | null }>(
    sumChunkSql(chunk, { slice, pathOf }),
    options,
  );
  assertCount(rowCount, Number(summed?.rows));
  return { rowCount, digest: BigInt(summed?.digest ?? 0) };
}

function assertCount(written: number, expected: number): void {
  if (written === expected) return;
  throw new AppError('internal_error', {
    cause: new Error(`DuckDB wrote ${written} rows, and there are ${expected}`),
  });
}

async function openPaths(chunk: Chunk, segments: OpenSegments): Promise<ColdPiece['pathOf']> {
  const paths = new Map<string, string>();
  for (const { segmentId } of chunk.runs) {
    if (!paths.has(segmentId)) paths.set(segmentId, await segments.path(segmentId));
  }
  return (segmentId) => paths.get(segmentId) ?? '';
}

/** Reads a slice that is all hot, by one COPY. */
function readHotRows(connection: Connection, slice: Slice, form: RowForm): TierRows<Buffer> {
  let rowCount = 0;
  return {
    async *whileConnected() {
      const copy = copyHotRows(connection, slice, { form });
      yield* copy as AsyncIterable<Buffer>;
      rowCount = await copy.counted;
    },
    async *afterwards() {},
    get rowCount() {
      return rowCount;
    },
    digest: null,
    async close() {},
  };
}

/** The COPY of the hot rows of a slice, or of a range of it. `isKeyed` puts the key before each row. */
function copyHotRows(
  connection: Connection,
  slice: Slice,
  part: { form: RowForm; range?: KeyRange; isKeyed?: boolean },
) {
  const { form, ...rest } = part;
  const query = selectRecords(slice, form, rest);
  if (form.kind === 'json') {
    return copyCsv(connection, query, { header: false, quoted: [], dialect: jsonDialect });
  }
  const quoted: string[] = quotedColumns(form.columns);
  if (part.isKeyed) quoted.push('key');
  const dialect = form.kind === 'cells' ? { quote: cellQuote, delimiter: ',' } : undefined;
  return copyCsv(connection, query, { header: false, quoted, ...(dialect && { dialect }) });
}
