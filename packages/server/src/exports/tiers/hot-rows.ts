import { copyCsv } from '../../platform/postgres/copy-out.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import type { KeyRange, Slice } from '../../records/index.ts';
import { quotedColumns } from '../columns.ts';
import type { ExportColumn } from '../contract.ts';
import { selectRecords } from '../queries.ts';
import type { TierRows } from './tier-rows.ts';

/** A slice that is all hot: one COPY. */
export function readHotRows(
  connection: Connection,
  slice: Slice,
  columns: readonly ExportColumn[],
): TierRows {
  let rowCount = 0;
  return {
    async *whileConnected() {
      const copy = copyHotRows(connection, slice, { columns });
      yield* copy as AsyncIterable<Buffer>;
      rowCount = copy.rowCount;
    },
    async *afterwards() {},
    get rowCount() {
      return rowCount;
    },
    async close() {},
  };
}

/** The hot rows of a slice, or of a range of it. */
export function copyHotRows(
  connection: Connection,
  slice: Slice,
  part: { columns: readonly ExportColumn[]; range?: KeyRange; isKeyed?: boolean },
) {
  const quoted: string[] = quotedColumns(part.columns);
  if (part.isKeyed) quoted.push('key');
  return copyCsv(connection, selectRecords(slice, part.columns, part), { header: false, quoted });
}
