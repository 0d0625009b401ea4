import { type ExportState, exportStates } from '../api/values.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';

// All view state of EXPORTS, as it stands in the hash.

export type ExportsSearch = {
  tenant?: string;
  state?: ExportState;
  cursor?: string;
  /** The job in the drawer. */
  open?: string;
};

/** What of a hash can be understood; the rest is dropped, so that an old link still opens. */
export function validateExportsSearch(search: Record<string, unknown>): ExportsSearch {
  return withoutUndefined({
    tenant: textOf(search.tenant),
    state: exportStates.find((state) => state === search.state),
    cursor: textOf(search.cursor),
    open: textOf(search.open),
  });
}

export function hasFilter({ tenant, state }: ExportsSearch): boolean {
  return tenant !== undefined || state !== undefined;
}
