import type { SliceParams } from '../search.ts';
import { shellLine } from '../shell-line.ts';

export type ExportChoice = {
  slice: SliceParams;
  kind?: string | undefined;
  /** Undefined: all of them, in their order. */
  columns?: readonly string[] | undefined;
  profile: 'machine' | 'spreadsheet';
  header: boolean;
};

/** The line that does the same on a command line. `days` are those of the node: the CLI wants a range. */
export function exportLine(choice: ExportChoice, days: [string, string] | null): string {
  const { tenant, store, month } = choice.slice;
  const from = choice.slice.from ?? days?.[0];
  const to = choice.slice.to ?? days?.[1];
  return shellLine([
    ...['svcctl', 'analytics', 'export'],
    ...option('--tenant', tenant),
    ...option('--store', store),
    ...option('--month', month),
    ...(month === undefined ? [...option('--from', from), ...option('--to', to)] : []),
    ...option('--kind', choice.kind),
    ...['--format', 'csv'],
    ...option('--columns', choice.columns?.join(',')),
    ...(choice.profile === 'machine' ? [] : ['--profile', choice.profile]),
    ...(choice.header ? [] : ['--no-header']),
    ...['--out', fileName(choice)],
  ]);
}

/** Such as `TX_DFW_2001-03.csv`, with nothing in it that a file system could refuse. */
export function fileName({ slice, kind }: ExportChoice): string {
  const { tenant, store, month, from, to } = slice;
  const parts = [tenant, store, month, from, to, kind].filter((part) => part !== undefined);
  return `${parts.join('_').replace(/[^\p{L}\p{N}._-]/gu, '-')}.csv`;
}

function option(name: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  return value.startsWith('-') ? [`${name}=${value}`] : [name, value];
}
