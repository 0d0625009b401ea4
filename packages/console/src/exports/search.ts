import { exportFilters } from '../api/views.ts';
import { type ListSearch, readList } from '../ui/list-search.ts';

/** The view state of the page EXPORTS, as the hash has it. */
export type ExportsSearch = ListSearch<typeof exportFilters>;

/** The panels of the page: an export job, by its id. */
export const exportsPanels = ['export'] as const;

export function validateExportsSearch(search: Record<string, unknown>): ExportsSearch {
  return readList(search, exportFilters, exportsPanels, { open: 'export' });
}
