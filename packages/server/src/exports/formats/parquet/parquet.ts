import { isOwnColumn } from '../../columns.ts';
import type { ExportColumn } from '../../contract.ts';
import { dialects } from '../../csv/encode-row.ts';
import { createReEncoder, planColumns } from '../../csv/re-encode.ts';
import { startBody } from '../../start-body.ts';
import { readPieces, type Snapshot } from '../../tiers/both-tiers.ts';
import { readHotRows } from '../../tiers/hot-rows.ts';
import { readRows } from '../../tiers/read-rows.ts';
import type { DonePart, FileFormat, FileOptions } from '../format.ts';
import { proofOf } from '../prove/proof.ts';
import { reEncodeRows } from '../re-encode-rows.ts';
import { joinGroups, magic, writeFooter } from './footer.ts';
import { groupColumns } from './group-sql.ts';
import { parseLayout } from './layout.ts';
import { openParquetRows, type ParquetRows } from './parquet-rows.ts';
import { proveParquet } from './prove-parquet.ts';

/** One Parquet file, zstd inside. Its parts are row groups, its tail the footer. */
export function createParquetFormat(options: FileOptions): FileFormat {
  const { columns } = options;
  const tail = (parts: readonly DonePart[]) => {
    const placed = parts.map(({ layout, sizeBytes }) => ({ ...parseLayout(layout), sizeBytes }));
    return writeFooter(joinGroups(placed), columns);
  };
  return {
    mediaType: 'application/vnd.apache.parquet',
    extension: 'parquet',
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
  // Field paths are picked out of machine CSV, whatever tier wrote it.
  const plan = planColumns(written);
  const rows = await readRows(snapshot, { kind: 'csv', columns: plan.source }, isHot);
  const { encode, lineEnd } = dialects.machine;
  const encoder = createReEncoder(plan, (cells) => cells.map(encode).join(',') + lineEnd);
  return openParquetRows(snapshot, reEncodeRows(rows, encoder), { columns });
}
