import { defaultColumns } from '../columns.ts';
import type { ExportFormat, ExportRequest } from '../contract.ts';
import type { FileOptions } from '../formats/format.ts';
import { createFormat } from '../formats/index.ts';
import type { Selection } from '../select.ts';

/** What file a request asks for, with the defaults as they are now. */
export function toFileOptions(
  format: ExportFormat,
  body: ExportRequest,
  slice: Selection['slice'],
): FileOptions {
  const { columns = defaultColumns(format, slice), header = true, profile = 'machine' } = body;
  const compression = format === 'parquet' ? 'none' : (body.compression ?? 'none');
  return { format, columns, header, profile, compression };
}

/** Such as `TX_DFW_2001-01-01_2001-03-31.csv.gz`. */
export function fileNameOf(selection: Selection, options: FileOptions): string {
  const { slice, version } = selection;
  const last =
    slice.until && new Date(Date.parse(slice.until) - 86_400_000).toISOString().slice(0, 10);
  const names =
    version === null
      ? [slice.tenant, slice.store, slice.from, last, slice.kind, slice.dataset]
      : [slice.tenant, version.dataset, version.name, slice.split];
  const name = names.filter((part) => part !== undefined).join('_');
  // A version's name may hold what no file system takes.
  return `${name.replaceAll(/[/\\]/g, '-')}.${createFormat(options).extension}`;
}
