import type {
  Compression,
  DatasetName,
  ExportFormat,
  Profile,
  SplitName,
  Version,
} from '../../exports/types.ts';
import type { SliceParams } from '../search.ts';
import type { ExportChoice, Way } from './choice.ts';
import { defaultColumns, exportColumns, parsePaths } from './export-columns.ts';

/** What the panel lets choose, as it stands. */
export type Choices = {
  format: ExportFormat;
  compression: Compression;
  /** Undefined: those by default, which differ between formats. */
  columns: readonly string[] | undefined;
  pathText: string;
  profile: Profile;
  header: boolean;
  dataset: DatasetName | undefined;
  versionId: string | undefined;
  split: SplitName | undefined;
  /** Undefined: the better one for so many rows. */
  way: Way | undefined;
};

export const firstChoices: Choices = {
  format: 'csv',
  compression: 'none',
  columns: undefined,
  pathText: '',
  profile: 'machine',
  header: true,
  dataset: undefined,
  versionId: undefined,
  split: undefined,
  way: undefined,
};

/** What they come to: the export, the columns it would have by default, and what is wrong with it. */
export function choiceOf(from: {
  slice: SliceParams;
  kind: string | undefined;
  choices: Choices;
  versions: readonly Version[];
}): { choice: ExportChoice; byDefault: readonly string[]; fault: string | null } {
  const { slice, kind, choices, versions } = from;
  const { columns, pathText, versionId, way: _way, ...rest } = choices;
  const { paths, fault } = parsePaths(pathText);
  const version = versions.find(({ id }) => id === versionId);
  const choice = { ...rest, slice, kind, version };
  const byDefault = defaultColumns(
    choices.format,
    version !== undefined && version.shares !== null,
  );
  if (columns === undefined && paths.length === 0) return { choice, byDefault, fault };
  const base = columns ?? byDefault;
  const chosen = [...exportColumns.filter((name) => base.includes(name)), ...paths];
  return { choice: { ...choice, columns: chosen }, byDefault, fault };
}
