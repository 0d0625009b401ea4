// The closed lists of the exports feature. Contract, command line and console all take them from here. The file has no
// schema code, so it costs the command line no start-up time and the console no bytes.

import { recordFields } from '../records/values.ts';

/** The columns of an export, in their order, beside field paths. `split` is empty except for versions with shares. */
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

/** The media types that export files may have. */
export const fileTypes = {
  csv: ['text/csv', 'application/gzip', 'application/zstd'],
  ndjson: ['application/x-ndjson', 'application/gzip', 'application/zstd'],
  parquet: ['application/vnd.apache.parquet'],
  any: [
    ...['text/csv', 'application/x-ndjson', 'application/vnd.apache.parquet'],
    ...['application/gzip', 'application/zstd', 'application/x-tar'],
  ],
} as const;

/** The default columns of NDJSON: a record as it was sent, which ingest accepts again. */
export const recordColumns = recordFields satisfies readonly ExportColumn[];

/** The columns of a file when the request names none. `split` is among them only where there are splits. */
export function defaultColumns(format: JobFormat, hasSplits: boolean): readonly ExportColumn[] {
  if (format === 'ndjson') return recordColumns;
  return hasSplits ? exportColumns : exportColumns.filter((column) => column !== 'split');
}

export const exportFormats = ['csv', 'ndjson', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** What jobs make. bundle: a tar for those who train, of a dataset version. */
export const jobFormats = [...exportFormats, 'bundle'] as const;
export type JobFormat = (typeof jobFormats)[number];

/** What a sheet has room for: https://support.microsoft.com/office/excel-specifications-and-limits */
export const sheetLimits = { rows: 1_048_576, cellCharacters: 32_767 };

/** Says what a spreadsheet would cut of a file; null when it shows all of it. */
export function cutBySheet(file: {
  readonly rows: number;
  /** How many records are so large that a cell may be; null when that is not known. */
  readonly long_records: number | null;
  readonly hasHeader: boolean;
}): string | null {
  const { rows, long_records: long } = file;
  const room = sheetLimits.rows - (file.hasHeader ? 1 : 0);
  const countOf = (count: number) => count.toLocaleString('en-US');
  if (rows > room) {
    return `A sheet of a spreadsheet has room for ${countOf(room)} of these ${countOf(rows)} rows, and drops the others.`;
  }
  if (long === null || long === 0) return null;
  const who = long === 1 ? '1 record has' : `${countOf(long)} records have`;
  const most = countOf(sheetLimits.cellCharacters);
  return `${who} more than ${most} bytes: a spreadsheet cuts cells of more than ${most} characters.`;
}

/** The profiles of CSV. machine: an exact round trip. spreadsheet: what Excel opens without harm. */
export const profiles = ['machine', 'spreadsheet'] as const;
export type Profile = (typeof profiles)[number];

/** The compression of the file itself, whatever HTTP does. Parquet compresses its own pages and takes none of these. */
export const compressions = ['none', 'gzip', 'zstd'] as const;
export type Compression = (typeof compressions)[number];

const compressionEndings: Readonly<Record<Compression, string>> = {
  none: '',
  gzip: '.gz',
  zstd: '.zst',
};

/** How the name of such a file ends, for example ".ndjson.gz". */
export function fileExtension(format: ExportFormat, compression: Compression): string {
  return `.${format}${compressionEndings[compression]}`;
}

/** What the name of an export's file tells: its slice as it was asked for, or a version in its place. */
type FileNameParts = { readonly tenant: string } & {
  readonly [part in 'store' | 'month' | 'from' | 'to' | 'kind' | 'where']?: string | undefined;
} & { readonly [part in 'dataset' | 'versionName' | 'split']?: string | undefined };

/** A name for the file, such as `TX_DFW_2001-03.csv.gz`, without characters that a file system could refuse. */
export function exportFileName(parts: FileNameParts, extension: string): string {
  const { tenant, store, month, from, to, kind, dataset, versionName, split } = parts;
  const own = parts.where === undefined ? undefined : 'where';
  const names =
    versionName === undefined
      ? [tenant, store, month, from, to, kind, dataset, own]
      : [tenant, versionName, split, own];
  const name = names.filter((part) => part !== undefined).join('_');
  return `${name.replace(/[^\p{L}\p{N}._-]/gu, '-')}${extension}`;
}

/** The states of an export job. One that waits goes on by itself when the store answers. The last four have ended. */
export const exportStates = [
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'cancelled',
  'erased',
] as const;
export type ExportState = (typeof exportStates)[number];

/** How a schedule is; the contract says what each of them means. */
export const scheduleStates = ['waiting', 'running', 'failing', 'paused'] as const;
export type ScheduleState = (typeof scheduleStates)[number];

/** As what the end of a run is reported, where its schedule asks for it. */
export const runEventTypes = ['svcctl.export.delivered', 'svcctl.export.failed'] as const;
export type RunEventType = (typeof runEventTypes)[number];

/** With what the first run of a schedule begins. */
export const scheduleStarts = ['all', 'now'] as const;

/** How a file was compared with its slice; the contract of the manifest says what each of them means. */
export const proofs = ['content', 'sample', 'rows'] as const;
export type Proof = (typeof proofs)[number];

/** How a file may differ from its manifest, as `exports verify` names it. */
const differenceKinds = [
  'lost',
  'bytes',
  'sha256',
  'header',
  'unreadable',
  'rows',
  'digest',
] as const;
export type DifferenceKind = (typeof differenceKinds)[number];

/** The type of a field in typed Parquet; a decimal has 38 digits, and so many of them behind the point. */
export type FieldType =
  | 'boolean'
  | 'bigint'
  | 'double'
  | 'string'
  | { readonly decimal: number }
  | { readonly list: FieldType }
  | { readonly struct: readonly NamedField[] };
export type NamedField = { readonly name: string; readonly type: FieldType };

/** A column that a field of the enrichment makes. `field` is its name there. */
export type FieldColumn = NamedField & { readonly field: string };

/** What did not fit the columns of typed Parquet is in this one, as JSON text. */
export const restColumn = '_rest';

/** A type as SQL spells it: `BIGINT`, `STRUCT("iata" VARCHAR, "gates" BIGINT[])`. */
export function fieldTypeText(type: FieldType): string {
  if (typeof type === 'string') return type === 'string' ? 'VARCHAR' : type.toUpperCase();
  if ('decimal' in type) return `DECIMAL(38,${type.decimal})`;
  if ('list' in type) return `${fieldTypeText(type.list)}[]`;
  const members = type.struct.map(
    (member) => `"${member.name.replaceAll('"', '""')}" ${fieldTypeText(member.type)}`,
  );
  return `STRUCT(${members.join(', ')})`;
}

/** The templates of lines that have a name. */
export const templateNames = ['openai-chat', 'openai-messages', 'prompt-completion'] as const;
export type TemplateName = (typeof templateNames)[number];

/** What becomes of a record that has no value for a reference of a template: the export fails, or goes on without it. */
export const missingRules = ['refuse', 'skip'] as const;
export type MissingRule = (typeof missingRules)[number];

/** How lines are made: of a template, by its name or itself. */
export type LineTemplate = { readonly lines: TemplateName | object; readonly missing: MissingRule };
