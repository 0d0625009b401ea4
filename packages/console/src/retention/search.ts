import { moveFilters } from '../api/views.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';
import { type ListSearch, readList } from '../ui/list-search.ts';
import { panelHref } from '../ui/panel-place.ts';

// The view state of the page RETENTION, as the hash has it.

/** The filters are those of the journal. The cursor is that of the list that is shown. */
export type RetentionSearch = ListSearch<typeof moveFilters> & {
  view?: 'journal';
  /** Filter of the tenants: how their names begin. */
  q?: string;
};

type Raw = Record<string, unknown>;

const older = { open: 'tenant', move: 'move', verify: 'verification' } as const;

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateRetentionSearch(search: Raw): RetentionSearch {
  return {
    ...readList(search, moveFilters, retentionPanels, older),
    ...withoutUndefined({
      view: search.view === 'journal' ? ('journal' as const) : undefined,
      q: textOf(search.q),
    }),
  };
}

/** The panels of the page. A tenant is its name, `*` the default policy; `run` is of one tenant or of all. */
export const retentionPanels = ['tenant', 'move', 'verification', 'iceberg', 'run'] as const;
export type RetentionPanel = (typeof retentionPanels)[number];

/** A link that opens a panel beside the list to which it belongs. */
export function retentionHref(kind: RetentionPanel, id: string): string {
  return panelHref('/retention', { kind, id }, { view: kind === 'move' ? 'journal' : undefined });
}
