import type { ExportState } from './types.ts';

// All view state of EXPORTS, as it stands in the hash.

export const exportStates = [
  'queued',
  'running',
  'completed',
  'failed',
  'cancelled',
  'erased',
] as const satisfies ExportState[];

export type ExportsSearch = {
  tenant?: string;
  state?: ExportState;
  cursor?: string;
  /** The job in the drawer. */
  open?: string;
};

/** What of a hash can be understood; the rest is dropped, so that an old link still opens. */
export function validateExportsSearch(search: Record<string, unknown>): ExportsSearch {
  const fields = {
    tenant: text(search.tenant),
    state: exportStates.find((state) => state === search.state),
    cursor: text(search.cursor),
    open: text(search.open),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function hasFilter({ tenant, state }: ExportsSearch): boolean {
  return tenant !== undefined || state !== undefined;
}

/** A link to a job, in its drawer. */
export function exportHref(id: string): string {
  return `#/exports?open=${encodeURIComponent(id)}`;
}

function text(value: unknown): string | undefined {
  const string = typeof value === 'number' ? String(value) : value;
  return typeof string === 'string' && string !== '' ? string : undefined;
}
