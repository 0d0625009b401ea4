import type { Static } from 'typebox';
import type { Database } from '../platform/postgres/database.ts';
import { type ColdReader, readTagWindows, type Slice, sampleRecords } from '../records/index.ts';
import type { linesPreviewSchema } from './contract.ts';
import type { Cell } from './encode/csv-cells.ts';
import { quotedColumns } from './encode/rows.ts';
import { cellOf } from './estimate.ts';
import type { FileOptions } from './formats/format.ts';
import { createLineWriter } from './formats/line-writer.ts';

const shown = 3;

/** Returns how a file begins: what comes before its rows, and its first rows. Throws 500 `segment_damaged`. */
export async function previewLines(
  source: { db: Database; cold: ColdReader },
  slice: Slice & { readonly tenant: string },
  options: FileOptions,
): Promise<Static<typeof linesPreviewSchema>> {
  const { plan, head, encodeRow } = createLineWriter(options);
  const quoted = new Set(quotedColumns(plan.source));
  const tagged = { ...slice, tags: slice.tags ?? (await readTagWindows(source.db, slice.tenant)) };
  const sample = await sampleRecords(source, tagged, 2 * shown);
  const lines = sample.slice(0, shown).map((row) =>
    encodeRow(
      plan.pick(
        plan.source.map((column): Cell => {
          const text = cellOf(row, column, tagged);
          return text === null ? null : { text, isText: quoted.has(column) };
        }),
      ),
    ),
  );
  return { head, lines };
}
