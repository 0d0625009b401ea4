import { sideBySide } from '../kernel/side-by-side.ts';
import { copyTable } from '../platform/postgres/copy.ts';
import { cancelling } from '../platform/postgres/database.ts';
import type { Snapshot } from '../platform/postgres/snapshot.ts';
import { partitionName } from '../records/index.ts';
import { isSameTriple } from '../records/segments.ts';
import { folderOf, type Manifest, type SavedTable, type TablePart } from './manifest.ts';
import { packRows } from './pack-rows.ts';
import type { Place } from './place.ts';
import { type LiveTable, listMonths, ownerOf, sumMonth } from './queries.ts';
import type { TenantKeys } from './tenant-keys.ts';

export const recordsTable = 'enrichment_records';
/** So many tables or months are read side by side: packing takes more CPU time than PostgreSQL does. */
const connections = 3;

type Options = {
  readonly place: Place;
  readonly database: string;
  readonly spoolDir: string;
  readonly signal: AbortSignal;
  /** The backup whose files are taken for the months that have not changed; null for none. */
  readonly former: Manifest | null;
  readonly isTrusting: boolean;
  /** By which the rows of tenants are encrypted, if they are. */
  readonly keys: TenantKeys | undefined;
  readonly fileBytes?: number | undefined;
  /** Is told of the records that are done. */
  readonly onRecords: (rows: number) => void;
};

/** Writes the rows of all tables into the place, as they are in the snapshot. */
export async function saveTables(
  snapshot: Snapshot,
  tables: readonly LiveTable[],
  options: Options,
): Promise<{ tables: SavedTable[]; newBytes: number }> {
  const months = await snapshot.read(listMonths);
  const isRecords = ({ name }: LiveTable) => name === recordsTable;
  // The large ones first: otherwise the last of them is packed alone.
  const units: Unit[] = [
    ...tables.filter(isRecords).flatMap((table) => months.map((month) => ({ table, month }))),
    ...tables.filter((table) => !isRecords(table)).map((table) => ({ table, month: null })),
  ];
  const limits = { atOnce: connections, signal: options.signal };
  const saved = await sideBySide(units, limits, (unit, signal) =>
    savePart(snapshot, unit, { ...options, signal }),
  );
  const partsOf = (table: LiveTable) =>
    saved.flatMap(({ part }, at) => (units[at]?.table === table && part !== null ? [part] : []));
  return {
    tables: tables.map((table) => ({
      name: table.name,
      columns: table.columns,
      parts: partsOf(table),
    })),
    newBytes: saved.reduce((sum, { newBytes }) => sum + newBytes, 0),
  };
}

/** A table, or a month of records. */
type Unit = { readonly table: LiveTable; readonly month: string | null };

async function savePart(
  snapshot: Snapshot,
  { table, month }: Unit,
  options: Options,
): Promise<{ part: TablePart | null; newBytes: number }> {
  const source = month === null ? table.name : partitionName(month);
  return snapshot.read(async (connection) => {
    const sums = month === null ? undefined : await sumMonth(connection, source);
    if (month !== null && sums === undefined) return { part: null, newBytes: 0 };
    const proof = month !== null && sums !== undefined ? { month, ...sums } : undefined;
    const former = proof && (await findUnchanged(table, proof, options));
    if (former) {
      options.onRecords(former.rows);
      return { part: former, newBytes: 0 };
    }
    const owned = options.keys === undefined ? null : ownerOf(table);
    const copy = copyTable(connection, { table: source, columns: table.columns, owned });
    const pack = async () => {
      const { files, newBytes } = await packRows(copy, {
        ...options,
        keys: owned === null ? undefined : options.keys,
        folder: `${folderOf('tables', options.database)}/${table.name}`,
        // A row may refer to another one of its table, so all of them are loaded at once.
        fileBytes: table.refers_to.length > 0 ? Number.POSITIVE_INFINITY : options.fileBytes,
        onRows: (rows) => {
          if (month !== null) options.onRecords(rows);
        },
      });
      const rows = await copy.counted;
      const packed = files.reduce((sum, file) => sum + file.rows, 0);
      if (packed !== rows) throw new Error(`${packed} of ${rows} rows of ${source} were packed`);
      if (files.length === 0) return { part: null, newBytes };
      return { part: { rows, files, ...(proof === undefined ? {} : { month: proof }) }, newBytes };
    };
    return cancelling(connection, options.signal, pack).finally(() => copy.destroy());
  });
}

/** The former backup's files that hold these rows: records never change, so count, bytes, digest and last time tell. */
async function findUnchanged(
  table: LiveTable,
  month: NonNullable<TablePart['month']>,
  { former, place, signal }: Options,
): Promise<TablePart | null> {
  const before = former?.tables.find(({ name }) => name === table.name);
  if (before?.columns.join() !== table.columns.join()) return null;
  const part = before.parts.find((each) => each.month?.month === month.month);
  if (part?.month === undefined || part.month.newest !== month.newest) return null;
  if (!isSameTriple(part.month, month)) return null;
  for (const file of part.files) {
    if ((await place.head(file.key, signal))?.sizeBytes !== file.size_bytes) return null;
  }
  return part;
}
