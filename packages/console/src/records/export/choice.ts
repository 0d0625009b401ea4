import type { DatasetVersion, ExportRequest } from '../../api/types.ts';
import {
  type Compression,
  type DatasetName,
  defaultColumns,
  type ExportFormat,
  exportColumns,
  exportFileName,
  fileExtension,
  type MissingRule,
  type Profile,
  type SplitName,
  type TemplateName,
} from '../../api/values.ts';
import { type Lines, noTemplate, readLines } from '../../ui/template-field.tsx';
import { shellLine } from '../../ui/words.ts';
import type { SliceParams } from '../search.ts';

/** A complete choice of the export panel: what is exported, and how. */
export type ExportChoice = {
  slice: SliceParams;
  kind?: string | undefined;
  /** Only a job takes it. */
  where?: string | undefined;
  dataset?: DatasetName | undefined;
  /** A dataset version. It replaces store, days, kind and dataset, because a version belongs to a whole tenant. */
  version?:
    | { id: string; name: string; where?: string | null; group_by?: string | null }
    | undefined;
  /** One split of the version; undefined means all of it. */
  split?: SplitName | undefined;
  format: ExportFormat;
  /** Ignored for Parquet, which compresses by itself. */
  compression: Compression;
  /** For Parquet only: fields as columns of their types. Only a job makes it. */
  typed?: boolean;
  /** For NDJSON only: what each line is made by, in place of the record. Only a job makes it. */
  template?: TemplateName | object | undefined;
  missing?: MissingRule;
  /** Undefined: those by default. */
  columns?: readonly string[] | undefined;
  /** Used for CSV only, like `header`. */
  profile: Profile;
  header: boolean;
};

/** Which records the choice is about, in the names of the API: the estimate and the export use the same. */
export function selectionOf(
  choice: ExportChoice,
): Pick<
  ExportRequest,
  'tenant' | 'store' | 'month' | 'from' | 'to' | 'kind' | 'dataset' | 'version' | 'split'
> {
  const { slice, kind, dataset, version, split } = choice;
  if (version !== undefined) {
    return { tenant: slice.tenant, version: version.id, ...(split !== undefined && { split }) };
  }
  return {
    ...slice,
    ...(kind !== undefined && { kind }),
    ...(dataset !== undefined && { dataset }),
  };
}

/** The body of the request. It has only fields that the chosen format knows. */
export function bodyOf(choice: ExportChoice): ExportRequest {
  const { where, format, compression, columns, profile, header } = choice;
  return {
    ...selectionOf(choice),
    ...(isTyped(choice) && { typed: true }),
    ...lineParts(choice),
    ...(where !== undefined && { where }),
    ...(columns !== undefined && { columns: [...columns] }),
    ...(format !== 'parquet' && compression !== 'none' && { compression }),
    ...(format === 'csv' && { profile, header }),
  };
}

/** Whether the fields of the enrichment become columns of their types. */
export function isTyped({ format, typed }: Pick<ExportChoice, 'format' | 'typed'>): boolean {
  return format === 'parquet' && typed === true;
}

/** The template of the lines, and what becomes of a record without a value for it. */
function lineParts({ format, template, missing = 'refuse' }: ExportChoice) {
  return format === 'ndjson' && template !== undefined ? { template, missing } : {};
}

/** What must hold of the records: what was asked for, or what the version was frozen with. */
export function whereOf({ where, version }: ExportChoice): string | undefined {
  return where ?? version?.where ?? undefined;
}

/** Whether only reading the records tells which are meant: those with a `where`, or the split of a version with groups. */
export function isUncounted(choice: ExportChoice): boolean {
  return whereOf(choice) !== undefined || isOfGroups(choice);
}

/** Whether a split is chosen whose records groups tell. */
export function isOfGroups({ version, split }: ExportChoice): boolean {
  return split !== undefined && typeof version?.group_by === 'string';
}

/** Whether only a job can make the file. */
export function isJobOnly(choice: ExportChoice): boolean {
  return isUncounted(choice) || isTyped(choice) || lineParts(choice).template !== undefined;
}

/** Whether the file is to be opened in a spreadsheet. */
export function isForSheet({ format, profile }: ExportChoice): boolean {
  return format === 'csv' && profile === 'spreadsheet';
}

/** The formats as people write them. */
export const formatNames: Readonly<Record<ExportFormat, string>> = {
  csv: 'CSV',
  ndjson: 'NDJSON',
  parquet: 'Parquet',
};

/** The name of the file, as the service gives it, too. */
export function fileName(choice: ExportChoice): string {
  const { format, compression, version, split, dataset, kind, where, slice } = choice;
  const extension = fileExtension(format, format === 'parquet' ? 'none' : compression);
  const parts = { ...slice, kind, where, dataset, versionName: version?.name, split };
  return exportFileName(parts, extension);
}

/** With more rows than this, a job is recommended. */
const manyRows = 500_000;

/** How a file is made: by this page at once (`now`), or by the service in a job. */
export type Way = 'now' | 'job';

/** The recommended way for this many rows; undefined while their number is not known. */
export function betterWay(rows: number | undefined): Way {
  return rows !== undefined && rows > manyRows ? 'job' : 'now';
}

/** The fields of the panel as they stand. */
export type Choices = {
  format: ExportFormat;
  compression: Compression;
  /** Undefined: those by default, which differ between formats. */
  columns: readonly string[] | undefined;
  pathText: string;
  typed: boolean;
  /** What the lines of NDJSON are: records, those of a template of ours, or those of `templateText`. */
  lines: Lines;
  templateText: string;
  missing: MissingRule;
  profile: Profile;
  header: boolean;
  /** Undefined means records with any tags or none. */
  dataset: DatasetName | undefined;
  /** Undefined means that no version is chosen, so that `dataset` counts. */
  versionId: string | undefined;
  split: SplitName | undefined;
  /** Undefined means the way that is recommended for the number of rows. */
  way: Way | undefined;
};

/** What the panel has chosen when it opens. */
export const firstChoices: Choices = {
  format: 'csv',
  compression: 'none',
  columns: undefined,
  pathText: '',
  typed: false,
  lines: 'records',
  templateText: '',
  missing: 'refuse',
  profile: 'machine',
  header: true,
  dataset: undefined,
  versionId: undefined,
  split: undefined,
  way: undefined,
};

/** What the fields add up to: the export, the columns that it would have by default, and what is wrong with it. */
export function choiceOf(from: {
  slice: SliceParams;
  kind: string | undefined;
  where?: string | undefined;
  choices: Choices;
  versions: readonly DatasetVersion[];
}): {
  choice: ExportChoice;
  byDefault: readonly string[];
  fault: string | null;
  /** What is wrong with a template of one's own. */
  templateFault: string | null;
} {
  const { slice, kind, choices, versions } = from;
  const { columns, pathText, versionId, way: _way, lines, templateText, ...rest } = choices;
  const { template, fault: templateFault } =
    choices.format === 'ndjson' ? readLines(lines, templateText) : noTemplate;
  const hasColumns = template === undefined && templateFault === null;
  const { paths, fault } = parsePaths(hasColumns ? pathText : '');
  const typedFault = isTyped(choices) ? faultOfTyped(columns, paths) : null;
  const version = versions.find(({ id }) => id === versionId);
  // A version has its own records, and replaces the filters of the page.
  const where = version === undefined ? from.where : undefined;
  const choice = { ...rest, slice, kind, where, version, template };
  const byDefault = defaultColumns(
    choices.format,
    version !== undefined && version.shares !== null,
  );
  const faults = { fault: fault ?? typedFault, templateFault };
  // A template says itself what its lines have.
  if (!hasColumns || (columns === undefined && paths.length === 0))
    return { choice, byDefault, ...faults };
  const base = columns ?? byDefault;
  const chosen = [...exportColumns.filter((name) => base.includes(name)), ...paths];
  return { choice: { ...choice, columns: chosen }, byDefault, ...faults };
}

/** What is wrong with columns of a typed file, whose fields stand in the place of `enrichment`. */
function faultOfTyped(
  columns: readonly string[] | undefined,
  paths: readonly string[],
): string | null {
  if (paths.length > 0) return 'a typed file has all fields as columns already';
  const isLacking = columns !== undefined && !columns.includes('enrichment');
  return isLacking ? 'choose enrichment: its fields stand in its place' : null;
}

/** Reads field paths as people type them, separated by commas or line breaks: `origin.iata, enrichment.score`. */
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

/** The command line that does the same. `days` are the first and last of the node: the command needs a range. */
export function exportLine(
  choice: ExportChoice,
  days: [string, string] | null,
  way: Way = 'now',
): string {
  const { format, compression, columns, profile, header } = choice;
  return shellLine([
    ...['svcctl', 'analytics', 'export'],
    ...selectionOptions(choice, days),
    ...['--format', format],
    ...(format === 'parquet' || compression === 'none' ? [] : ['--compression', compression]),
    ...(isTyped(choice) ? ['--typed'] : []),
    ...templateOptions(choice),
    ...option('--columns', columns?.join(',')),
    ...(format !== 'csv' || profile === 'machine' ? [] : ['--style', profile]),
    ...(format !== 'csv' || header ? [] : ['--no-header']),
    ...(way === 'job' ? ['--async'] : []),
    ...['--out', fileName(choice)],
  ]);
}

/** A template of one's own comes out of a file. */
function templateOptions(choice: ExportChoice): string[] {
  const { template, missing } = lineParts(choice);
  if (template === undefined) return [];
  const word = typeof template === 'string' ? template : '@template.json';
  return ['--template', word, ...(missing === 'skip' ? ['--missing', missing] : [])];
}

/** The options of the command line that say which records. */
function selectionOptions(choice: ExportChoice, days: [string, string] | null): string[] {
  const { slice, kind, where, dataset, version, split } = choice;
  const { tenant, store, month } = slice;
  if (version !== undefined) {
    return [
      ...option('--tenant', tenant),
      ...option('--version', version.name),
      ...option('--split', split),
    ];
  }
  const from = slice.from ?? days?.[0];
  const to = slice.to ?? days?.[1];
  return [
    ...option('--tenant', tenant),
    ...option('--store', store),
    ...option('--month', month),
    ...(month === undefined ? [...option('--from', from), ...option('--to', to)] : []),
    ...option('--kind', kind),
    ...option('--where', where),
    ...option('--dataset', dataset),
  ];
}

function option(name: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  return value.startsWith('-') ? [`${name}=${value}`] : [name, value];
}
