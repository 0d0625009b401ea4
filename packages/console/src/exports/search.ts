import { exportFilters } from '../api/views.ts';
import { type ListSearch, readList } from '../ui/list-search.ts';
import type { PageSearch } from '../ui/use-search.ts';

export const exportsViews = ['exports', 'schedules'] as const;
type ExportsView = (typeof exportsViews)[number];

/** The view state of the page EXPORTS, as the hash has it. */
export type ExportsSearch = ListSearch<typeof exportFilters> & {
  /** Undefined means the exports. */
  view?: ExportsView;
};

/** The panels of the page: an export job or a schedule, by its id, and a new one of either. */
export const exportsPanels = ['export', 'schedule', 'new-export', 'new-schedule'] as const;

/** The state of the page, with its panel. */
export type ExportsPlace = PageSearch<ExportsSearch, (typeof exportsPanels)[number]>;

export function validateExportsSearch(search: Record<string, unknown>): ExportsSearch {
  const view = exportsViews.find((each) => each !== 'exports' && each === search.view);
  return {
    ...readList(search, exportFilters, exportsPanels, { open: 'export' }),
    ...(view && { view }),
  };
}
