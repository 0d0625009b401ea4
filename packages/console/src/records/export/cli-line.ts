import { shellLine } from '../../ui/cli-block.tsx';
import { type ExportChoice, fileName, type Way } from './choice.ts';

/** The line that does the same on a command line. `days` are those of the node: the CLI wants a range. */
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
    ...option('--columns', columns?.join(',')),
    ...(format !== 'csv' || profile === 'machine' ? [] : ['--profile', profile]),
    ...(format !== 'csv' || header ? [] : ['--no-header']),
    ...(way === 'job' ? ['--async'] : []),
    ...['--out', fileName(choice)],
  ]);
}

function selectionOptions(choice: ExportChoice, days: [string, string] | null): string[] {
  const { slice, kind, dataset, version, split } = choice;
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
    ...option('--dataset', dataset),
  ];
}

function option(name: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  return value.startsWith('-') ? [`${name}=${value}`] : [name, value];
}
