import type { Static } from 'typebox';
import type { Database } from '../platform/postgres/database.ts';
import type { ColdReader, Slice } from '../records/index.ts';
import type { linesPreviewSchema } from './contract.ts';
import type { FileOptions } from './formats/format.ts';
import { createLineWriter } from './formats/line-writer.ts';
import { sampleCells } from './sample-cells.ts';

const shown = 3;

/** Returns how a file begins: what comes before its rows, and its first rows. Throws 500 `segment_damaged`. */
export async function previewLines(
  source: { db: Database; cold: ColdReader },
  slice: Slice & { readonly tenant: string },
  options: FileOptions,
): Promise<Static<typeof linesPreviewSchema>> {
  const { plan, head, encodeRow } = createLineWriter(options);
  const sample = await sampleCells(source, slice, { columns: plan.source, limit: 2 * shown });
  const lines = sample.slice(0, shown).map(({ cells }) => encodeRow(plan.pick(cells)));
  return { head, lines };
}
