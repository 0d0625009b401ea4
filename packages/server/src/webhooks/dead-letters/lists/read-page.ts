import type { Database } from '../../../platform/postgres/database.ts';
import * as queries from './queries.ts';

/** Rows that one page looks at for what no index finds, at most. */
const scanLimit = 10_000;

/** The rows of a page, newest first, and the key to read on from if there may be more. */
export async function readPage(
  db: Database,
  source: queries.RowSource,
  sought: queries.Sought,
  page: { after: queries.RowKey | null; limit: number },
): Promise<{ shown: queries.DeliveryRow[]; readOn: queries.RowKey | undefined }> {
  const scan = { ...page, limit: page.limit + 1, descending: true };
  const cut = (found: queries.DeliveryRow[]) => {
    const shown = found.slice(0, page.limit);
    const last = shown.at(-1);
    const at = last?.[source.orderedBy];
    return {
      shown,
      readOn: found.length > page.limit && last && at ? ([at, last.id] as const) : undefined,
    };
  };
  if (Object.values(sought).every((value) => value === undefined)) {
    return cut(await queries.listRows(db, source, sought, { ...scan, scanLimit: null }));
  }
  // One snapshot: what moves in between would move the end of the scan.
  return db.transaction(
    async (connection) => {
      const { shown, readOn } = cut(
        await queries.listRows(connection, source, sought, { ...scan, scanLimit }),
      );
      if (readOn !== undefined) return { shown, readOn };
      return {
        shown,
        readOn: await queries.findScanEnd(connection, source, { ...scan, scanLimit }),
      };
    },
    { isolation: 'repeatable read' },
  );
}
