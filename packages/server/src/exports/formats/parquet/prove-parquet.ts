import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type DuckDb, literal } from '../../../platform/parquet/duckdb.ts';
import type { DonePart, FileOptions, WrittenBody } from '../format.ts';
import { proofOf } from '../prove/proof.ts';
import { type Proved, proveRows } from '../prove/prove-rows.ts';

/** Makes the one part a whole file, and reads that. */
export async function proveParquet(
  duckdb: DuckDb,
  written: WrittenBody,
  options: FileOptions & { head: Buffer; tail(parts: readonly DonePart[]): Buffer },
): Promise<Proved> {
  const { path, layout, rows, dir, signal } = written;
  const { size } = await stat(path);
  const whole = join(dir, 'proof.parquet');
  const pieces = async function* () {
    yield options.head;
    yield* createReadStream(path, { highWaterMark: 1024 * 1024 });
    yield options.tail([{ rows, sizeBytes: size, layout }]);
  };
  try {
    await pipeline(pieces(), createWriteStream(whole, { mode: 0o600 }), { signal });
    // All columns are read, so that each page proves to be whole.
    const hasContent = proofOf(options) === 'content';
    return await proveRows(duckdb, rowsSql(whole, hasContent), { hasContent, signal });
  } finally {
    await rm(whole, { force: true });
  }
}

function rowsSql(path: string, hasContent: boolean): string {
  const rows = `read_parquet([${literal(path)}], hive_partitioning = false)`;
  return hasContent ? `select * from ${rows}` : `select columns(*)::varchar from ${rows}`;
}
