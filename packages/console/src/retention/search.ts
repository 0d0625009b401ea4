import { moveFilters } from '../api/views.ts';
import { type ListSearch, readList } from '../ui/list-search.ts';
import { panelHref } from '../ui/panel-place.ts';

// The view state of the page RETENTION, as the hash has it.

/** The filters of the tenants. */
export const tenantFilters = {
  q: { isUsual: true, title: 'Find tenant', label: 'Beginning of the tenant' },
} as const;

/** The other filters are those of the journal. The cursor is that of the list that is shown. */
export type RetentionSearch = ListSearch<typeof moveFilters & typeof tenantFilters> & {
  view?: 'journal';
};

type Raw = Record<string, unknown>;

const older = { open: 'tenant', move: 'move', verify: 'verification' } as const;

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateRetentionSearch(search: Raw): RetentionSearch {
  return {
    ...readList(search, { ...moveFilters, ...tenantFilters }, retentionPanels, older),
    ...(search.view === 'journal' && { view: 'journal' }),
  };
}

/** The panels of the page. A tenant is its name, `*` the default policy; `run` is of one tenant or of all. */
export const retentionPanels = ['tenant', 'move', 'verification', 'iceberg', 'run'] as const;
export type RetentionPanel = (typeof retentionPanels)[number];

/** A link that opens a panel beside the list to which it belongs. */
export function retentionHref(kind: RetentionPanel, id: string): string {
  return panelHref('/retention', { kind, id }, { view: kind === 'move' ? 'journal' : undefined });
}
