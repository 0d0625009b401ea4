// The closed lists of EXPORTS. Contract, command line and console all take them from here, so this file
// carries no schema code: it costs the command line no start-up time and the console no bytes.

/**
 * The columns of an export, in their order. `enrichment.some.path` may stand beside them. `split` has a
 * value in exports of a dataset version only, and is in them by default.
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
] as const;
export type ExportColumn = (typeof exportColumns)[number];

/** What NDJSON has by default: a record as it was sent, which ingest takes again. */
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

/** The columns of a file for which none were asked: `split` is among them only where there are splits. */
export function defaultColumns(format: ExportFormat, hasSplits: boolean): readonly ExportColumn[] {
  if (format === 'ndjson') return recordColumns;
  return hasSplits ? exportColumns : exportColumns.filter((column) => column !== 'split');
}

export const exportFormats = ['csv', 'ndjson', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Of CSV. machine: an exact round trip. spreadsheet: what Excel opens without harm. */
export const profiles = ['machine', 'spreadsheet'] as const;
export type Profile = (typeof profiles)[number];

/** Of the file itself, whatever HTTP does with it. Parquet compresses by itself and takes none of these. */
export const compressions = ['none', 'gzip', 'zstd'] as const;
export type Compression = (typeof compressions)[number];

const compressionEndings: Readonly<Record<Compression, string>> = {
  none: '',
  gzip: '.gz',
  zstd: '.zst',
};

/** How the name of such a file ends: ".ndjson.gz" */
export function fileExtension(format: ExportFormat, compression: Compression): string {
  return `.${format}${compressionEndings[compression]}`;
}

/** A job's life, in order; the last four are ends. */
export const exportStates = [
  'queued',
  'running',
  'completed',
  'failed',
  'cancelled',
  'erased',
] as const;
export type ExportState = (typeof exportStates)[number];

/** What a file's digest was computed from: its content read back, or the records that were read for it. */
export const proofs = ['content', 'rows'] as const;
export type Proof = (typeof proofs)[number];
