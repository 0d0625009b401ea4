import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type DuckDb, literal } from '../../../platform/duckdb.ts';
import { readHotRows, readPieces, readRows, type Snapshot } from '../../encode/both-tiers.ts';
import { dialects } from '../../encode/csv-cells.ts';
import { createReEncoder, planColumns, reEncodeRows } from '../../encode/re-encode.ts';
import { isOwnColumn } from '../../encode/rows.ts';
import type { ExportColumn } from '../../values.ts';
import type { DonePart, FileFormat, FileOptions, WrittenBody } from '../format.ts';
import { type Proved, proofOf, proveRows } from '../prove.ts';
import { startBody } from '../start-body.ts';
import { joinGroups, magic, type RowGroups, writeFooter } from './footer.ts';
import { groupColumns } from './group-sql.ts';
import { openParquetRows, type ParquetRows } from './parquet-rows.ts';

/** One Parquet file with zstd inside. Its parts are row groups, and its tail is the footer. */
export function createParquetFormat(options: FileOptions): FileFormat {
  const { columns } = options;
  const tail = (parts: readonly DonePart[]) => {
    const placed = parts.map(({ layout, sizeBytes }) => ({ ...parseLayout(layout), sizeBytes }));
    return writeFooter(joinGroups(placed), columns);
  };
  return {
    mediaType: 'application/vnd.apache.parquet',
    extension: '.parquet',
    head: magic,
    tail,
    startBody(source, slice, bodyOptions) {
      let opened: ParquetRows | null = null;
      return startBody(source, slice, {
        ...bodyOptions,
        form: {
          async openRows(snapshot, isHot) {
            opened = await openRows(snapshot, columns, isHot);
            return opened;
          },
          layout() {
            const { rows, groups } = joinGroups(opened?.groups ?? []);
            return { rows, groups };
          },
        },
      });
    },
    proof: proofOf(options),
    prove: (duckdb, written) => proveParquet(duckdb, written, { ...options, head: magic, tail }),
  };
}

async function openRows(
  snapshot: Snapshot,
  columns: readonly string[],
  isHot: boolean,
): Promise<ParquetRows> {
  const written = groupColumns(columns);
  const own = written.filter((name): name is ExportColumn => isOwnColumn(name));
  if (own.length === written.length) {
    const form = { kind: 'csv', columns: own } as const;
    const rows = isHot
      ? readHotRows(snapshot.connection, snapshot.slice, form)
      : await readPieces(snapshot, form);
    return openParquetRows(snapshot, rows, { columns });
  }
  // Field paths are picked out of machine CSV, whichever tier wrote it.
  const plan = planColumns(written);
  const rows = await readRows(snapshot, { kind: 'csv', columns: plan.source }, isHot);
  const { encode, lineEnd } = dialects.machine;
  const encoder = createReEncoder(plan, (cells) => cells.map(encode).join(',') + lineEnd);
  return openParquetRows(snapshot, reEncodeRows(rows, encoder), { columns });
}

/** Makes a whole file out of the one part, with head and tail, and reads that. */
async function proveParquet(
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
