import { AppError } from '../../kernel/errors.ts';
import type { Gate } from '../../kernel/gate.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import {
  type Chunk,
  type ColdReader,
  type CutOptions,
  isCounted,
  openSegments,
  planSteps,
  type Slice,
  type Step,
  usualCut,
} from '../../records/index.ts';
import type { ExportColumn } from '../contract.ts';
import { type ChunkFile, type ChunkFiles, createChunkFiles } from './chunk-files.ts';
import { copyChunkSql } from './chunk-sql.ts';
import { copyHotRows } from './hot-rows.ts';
import { mergeRows } from './merge-rows.ts';
import type { TierRows } from './tier-rows.ts';

export type BothTiers = {
  db: Database;
  cold: ColdReader;
  spoolDir: string;
  /** What chunk files take together, about. */
  spillBytes: number;
  /** It stands in the snapshot. */
  connection: Connection;
  slice: Slice;
  columns: readonly ExportColumn[];
  /** Cancels what DuckDB is doing. */
  signal: AbortSignal;
  /** Shared by all exports of a process: pages are read by the same DuckDB. */
  encoders: Gate;
  /** How finely the slice is cut; usually `usualCut`. */
  cut?: CutOptions;
};

/** Sorting a store-day of millions that lies in several segments takes its time. */
const chunkMillis = 600_000;
/** There are three chunk files at most, and a CSV may be twice as large as its records are as NDJSON. */
const spillShare = 6;
/** Steps whose chunks wait for their turn; between them there may be hot ones. */
const stepsAhead = 8;

/** A step whose chunks are being encoded. */
type Started = { step: Step; files: Promise<ChunkFile>[] };

/**
 * Reads a slice step by step in key order: hot ones by COPY, cold ones out of files that DuckDB writes
 * ahead, mixed ones merged. The connection is needed until the last hot row. Throws 500
 * `segment_damaged`, 503 `cold_tier_unavailable`.
 */
export async function readBothTiers(source: BothTiers): Promise<TierRows> {
  const { db, cold, connection, slice, signal } = source;
  const segments = await openSegments(connection, slice, { objects: cold.objects, db, signal });
  let files: ChunkFiles;
  try {
    files = await createChunkFiles({
      spoolDir: source.spoolDir,
      encoders: source.encoders,
      encode: (chunk, target) => encodeChunk(chunk, { ...source, ...target, segments }),
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
    const needsConnection = () =>
      !plan.isComplete || plan.hotStepsLeft > 0 || ahead.some(({ step }) => step.hotCount > 0);
    const startAhead = () => {
      while (ahead.length < stepsAhead) {
        const step = plan.take();
        if (step === undefined) return;
        const isKeyed = step.hotCount > 0;
        ahead.push({ step, files: step.chunks.map((chunk) => files.start(chunk, isKeyed)) });
      }
    };
    const readWhile = async function* (isWanted: () => boolean) {
      for (;;) {
        // What is known begins to be encoded while more is asked for.
        startAhead();
        await plan.readAhead();
        startAhead();
        const started = isWanted() ? ahead.shift() : undefined;
        if (started === undefined) return;
        yield* readStep(started, source, (count) => {
          rowCount += count;
        });
      }
    };
    return {
      whileConnected: () => readWhile(needsConnection),
      afterwards: () => readWhile(() => true),
      get rowCount() {
        return rowCount;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function* readStep(
  { step, files }: Started,
  { connection, slice, columns }: BothTiers,
  onRows: (count: number) => void,
): AsyncGenerator<Buffer> {
  const { range } = step;
  if (step.hotCount === 0) {
    yield* readFiles(files, onRows);
  } else if (files.length === 0) {
    const copy = copyHotRows(connection, slice, { columns, range });
    yield* copy as AsyncIterable<Buffer>;
    onRows(copy.rowCount);
  } else {
    const hot = copyHotRows(connection, slice, { columns, range, isKeyed: true });
    yield* mergeRows(
      hot,
      readFiles(files, () => {}),
      onRows,
    );
  }
}

async function* readFiles(
  files: readonly Promise<ChunkFile>[],
  onRows: (count: number) => void,
): AsyncGenerator<Buffer> {
  for (const making of files) {
    const file = await making;
    yield* file.read();
    onRows(file.rowCount);
  }
}

async function encodeChunk(
  chunk: Chunk,
  target: BothTiers & {
    segments: { path(segmentId: string): Promise<string> };
    isKeyed: boolean;
    path: string;
  },
): Promise<number> {
  const { cold, slice, signal, segments } = target;
  const paths = new Map<string, string>();
  for (const { segmentId } of chunk.runs) {
    if (!paths.has(segmentId)) paths.set(segmentId, await segments.path(segmentId));
  }
  const pathOf = (segmentId: string) => paths.get(segmentId) ?? '';
  const [copied] = await cold.duckdb.run<{ Count: string }>(
    copyChunkSql(chunk, { ...target, pathOf }),
    { signal, timeoutMillis: chunkMillis },
  );
  const rowCount = Number(copied?.Count);
  if (isCounted(slice) && rowCount !== chunk.count) {
    throw new AppError('internal_error', {
      cause: new Error(`DuckDB wrote ${rowCount} rows, the catalogue has ${chunk.count}`),
    });
  }
  return rowCount;
}
