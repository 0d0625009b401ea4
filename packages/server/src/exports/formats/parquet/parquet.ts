import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { randomText } from '../../../kernel/ids.ts';
import { type DuckDb, literal } from '../../../platform/duckdb.ts';
import { readPieces, readRows, type Snapshot } from '../../encode/both-tiers.ts';
import { dialects, lineOf } from '../../encode/csv-cells.ts';
import { planColumns, reEncodeRows } from '../../encode/re-encode.ts';
import { isOwnColumn } from '../../encode/rows.ts';
import { createRowTaker } from '../../typed/take-row.ts';
import type { ExportColumn, FieldColumn } from '../../values.ts';
import type { DonePart, FileColumns, FileOptions, WrittenBody } from '../format.ts';
import { type Proved, proofOf, proveRows } from '../prove.ts';
import { joinGroups, magic, type RowGroups, writeFooter } from './footer.ts';
import { groupCells } from './group-sql.ts';
import { openParquetRows, type ParquetRows } from './parquet-rows.ts';

/** The footer of a file of these parts. */
export function parquetTail(parts: readonly DonePart[], columns: FileColumns): Buffer {
  const placed = parts.map(({ layout, sizeBytes }) => ({ ...parseLayout(layout), sizeBytes }));
  return writeFooter(joinGroups(placed), columns);
}

/** Opens the rows of a snapshot as row groups. */
export async function openParquet(snapshot: Snapshot, columns: FileColumns): Promise<ParquetRows> {
  if (columns.fields !== undefined) return openTyped(snapshot, columns, columns.fields);
  const written = groupCells(columns);
  const own = written.filter((name): name is ExportColumn => isOwnColumn(name));
  if (own.length === written.length) {
    const rows = await readPieces(snapshot, { kind: 'cells', columns: own });
    return openParquetRows(snapshot, rows, columns);
  }
  // Field paths are picked out of cells, whichever tier wrote it.
  const plan = planColumns(written);
  const rows = await readRows(snapshot, { kind: 'cells', columns: plan.source });
  const picked = reEncodeRows(rows, plan, (cells) => lineOf(cells, dialects.cells));
  return openParquetRows(snapshot, picked, columns);
}

/** Takes the enrichments apart in this process, whichever tier wrote them: DuckDB only casts what is known to fit. */
async function openTyped(
  snapshot: Snapshot,
  columns: FileColumns,
  fields: readonly FieldColumn[],
): Promise<ParquetRows> {
  const names = columns.columns.filter(isOwnColumn);
  const source = ['bytes' as const, ...names.filter((name) => name !== 'bytes')];
  const rows = await readRows(snapshot, { kind: 'cells', columns: source });
  const { encodeRow, misfits } = createRowTaker(source, fields);
  const encoded = reEncodeRows(rows, planColumns(source), encodeRow);
  return openParquetRows(snapshot, encoded, columns, () => ({ misfits: misfits() }));
}

/** Makes a whole file out of the one part, with head and tail, and reads that. */
export async function proveParquet(
  duckdb: DuckDb,
  written: WrittenBody,
  options: FileOptions,
): Promise<Proved> {
  const { path, layout, rows, dir, signal } = written;
  const { size } = await stat(path);
  const whole = join(dir, `proof-${randomText(8)}.parquet`);
  const pieces = async function* () {
    yield magic;
    yield* createReadStream(path, { highWaterMark: 1024 * 1024 });
    yield parquetTail([{ rows, sizeBytes: size, layout }], options);
  };
  try {
    await pipeline(pieces(), createWriteStream(whole, { mode: 0o600 }), { signal });
    // All columns are read, so that every page of the file is checked.
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

/** The layout of a body, as it was stored. Throws when it is none. */
export function parseLayout(layout: unknown): RowGroups {
  if (!isLayout(layout)) throw new Error('a part of a Parquet file has lost its layout');
  return layout;
}

function isLayout(layout: unknown): layout is RowGroups {
  if (typeof layout !== 'object' || layout === null) return false;
  const { rows, groups } = layout as Partial<Record<keyof RowGroups, unknown>>;
  const isList = Array.isArray(groups) && groups.every((group) => typeof group === 'string');
  return Number.isSafeInteger(rows) && isList;
}
