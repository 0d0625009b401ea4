import type { ExportColumn, ExportFormat } from '../../exports/types.ts';

/**
 * The columns of an export, in their order: those of the contract, which may only be imported as types
 * here, since its values would bring its schemas into the bundle. A test compares the two.
 */
export const exportColumns = [
  'tenant',
  'store',
  'month',
  'event_id',
  'occurred_at',
  'recorded_at',
  'kind',
  'source',
  'model',
  'confidence',
  'bytes',
  'datasets',
  'split',
  'enrichment',
] as const satisfies readonly ExportColumn[];

/** What NDJSON has by default: a record as it was sent. */
export const recordColumns = [
  'tenant',
  'store',
  'event_id',
  'occurred_at',
  'kind',
  'source',
  'model',
  'confidence',
  'enrichment',
] as const satisfies readonly ExportColumn[];

/** The columns of a format unless others are asked for: `split` only of versions that have splits. */
export function defaultColumns(format: ExportFormat, hasSplits: boolean): readonly ExportColumn[] {
  if (format === 'ndjson') return recordColumns;
  return hasSplits ? exportColumns : exportColumns.filter((name) => name !== 'split');
}

/** Field paths as people type them: `origin.iata, enrichment.score`, by comma or line. */
export function parsePaths(text: string): { paths: string[]; fault: string | null } {
  const paths: string[] = [];
  for (const part of text.split(/[,\n]/)) {
    const typed = part.trim();
    if (typed === '') continue;
    const path = typed.startsWith('enrichment.') ? typed : `enrichment.${typed}`;
    if (!/^enrichment(\.[^.]+)+$/.test(path) || path.length > 500) {
      return { paths: [], fault: `“${typed}” is no path: names joined by dots, as origin.iata` };
    }
    if (!paths.includes(path)) paths.push(path);
  }
  return { paths, fault: null };
}
