import { type ExportState, exportStates } from '../api/values.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';
import { readPanel } from '../ui/panel-place.ts';

// The view state of the page EXPORTS, as the hash has it.

export type ExportsSearch = {
  tenant?: string;
  state?: ExportState;
  cursor?: string;
  panel?: string;
};

/** The panels of the page: an export job, by its id. */
export const exportsPanels = ['export'] as const;

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateExportsSearch(search: Record<string, unknown>): ExportsSearch {
  return withoutUndefined({
    tenant: textOf(search.tenant),
    state: exportStates.find((state) => state === search.state),
    cursor: textOf(search.cursor),
    panel: readPanel(search, exportsPanels, { open: 'export' }),
  });
}
