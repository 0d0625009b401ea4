import type { Static } from 'typebox';
import type { Database } from '../../platform/postgres/database.ts';
import { type ColdReader, readTagWindows, type Slice, sampleRecords } from '../../records/index.ts';
import type { templatePreviewSchema } from '../contract.ts';
import type { Cell } from '../encode/csv-cells.ts';
import { cellOf } from '../estimate.ts';
import type { LineTemplate } from '../values.ts';
import { createFiller, fillerColumns } from './fill-row.ts';
import { readTemplate } from './template.ts';

export type TemplatePreview = Static<typeof templatePreviewSchema>;

/** So many records are looked at, half of them from each end of the slice. */
const looks = 20;

/** Returns the first line that a template makes of a slice. Throws 400 `request_invalid`, 500 `segment_damaged`. */
export async function previewTemplate(
  source: { db: Database; cold: ColdReader },
  slice: Slice & { readonly tenant: string },
  lines: LineTemplate['lines'],
): Promise<TemplatePreview> {
  const columns = fillerColumns(readTemplate(lines).source);
  const { encodeRow, skipped } = createFiller({ lines, missing: 'skip' });
  const tagged = { ...slice, tags: slice.tags ?? (await readTagWindows(source.db, slice.tenant)) };
  const sample = await sampleRecords(source, tagged, looks);
  let looked = 0;
  let first: Pick<TemplatePreview, 'line' | 'record'> = { line: null, record: null };
  for (const row of sample) {
    looked += 1;
    const line = encodeRow(
      columns.map((column): Cell => {
        const text = cellOf(row, column, tagged);
        return text === null ? null : { text, isText: true };
      }),
    );
    if (line === '' || first.line !== null) continue;
    const { store, occurred_at, event_id } = row;
    first = { line: line.trimEnd(), record: { store, occurred_at, event_id } };
  }
  return { ...first, looked, skipped: skipped() };
}
