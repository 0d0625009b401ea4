import type { Static } from 'typebox';
import type { Database } from '../../platform/postgres/database.ts';
import type { ColdReader, Slice } from '../../records/index.ts';
import type { templatePreviewSchema } from '../contract.ts';
import { sampleCells } from '../sample-cells.ts';
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
  const sample = await sampleCells(source, slice, { columns, limit: looks });
  let first: Pick<TemplatePreview, 'line' | 'record'> = { line: null, record: null };
  for (const { row, cells } of sample) {
    const line = encodeRow(cells);
    if (line === '' || first.line !== null) continue;
    const { store, occurred_at, event_id } = row;
    first = { line: line.trimEnd(), record: { store, occurred_at, event_id } };
  }
  return { ...first, looked: sample.length, skipped: skipped() };
}
