import type { Compression, ExportFormat, ExportState, Profile, SplitName } from '../../contract.ts';

// The contract's lists once more: loading the contract would cost the command line its quick start.

export const formats = ['csv', 'ndjson', 'parquet'] as const satisfies readonly ExportFormat[];

/** `none` is what one gets without saying anything. */
export const fileCompressions = ['gzip', 'zstd'] as const satisfies readonly Compression[];

export const profiles = ['machine', 'spreadsheet'] as const satisfies readonly Profile[];

export const splits = ['train', 'validation', 'test'] as const satisfies readonly SplitName[];

export const exportStates = [
  'queued',
  'running',
  'completed',
  'failed',
  'cancelled',
  'erased',
] as const satisfies readonly ExportState[];

const endings: Record<Compression, string> = { none: '', gzip: '.gz', zstd: '.zst' };

/** ".ndjson.gz" */
export function fileExtension(format: ExportFormat, compression: Compression): string {
  return `.${format}${endings[compression]}`;
}
