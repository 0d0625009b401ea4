import { copyCsv } from '../../platform/postgres/copy.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import type { KeyRange, Slice } from '../../records/index.ts';
import { quotedColumns } from '../columns.ts';
import { selectRecords } from './queries.ts';
import { jsonDialect, type RowForm, type TierRows } from './rows.ts';

/** Reads a slice that is all hot, by one COPY. */
export function readHotRows(connection: Connection, slice: Slice, form: RowForm): TierRows {
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
export function copyHotRows(
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
  return copyCsv(connection, query, { header: false, quoted });
}
