import { auditFilters } from '../api/views.ts';
import { type ListSearch, readList } from '../ui/list-search.ts';
import type { PageSearch } from '../ui/use-search.ts';

export const accessViews = [
  'tokens',
  'sessions',
  'approvals',
  'portal',
  'audit',
  'notices',
  'rights',
] as const;
type AccessView = (typeof accessViews)[number];

/** Those that only admins see. */
export const adminViews: readonly AccessView[] = ['approvals', 'portal', 'notices'];

/** View state of the page ACCESS. The filters are those of the audit log. */
type AccessSearch = ListSearch<typeof auditFilters> & {
  /** Undefined means the tokens. */
  view?: AccessView;
};

/** The panels of ACCESS: what can be made, `rotate` for the secret of a token, and entries of the log by place. */
export const accessPanels = [
  'new-token',
  'rotate',
  'approval',
  'new-link',
  'entry',
  'new-target',
] as const;

/** The state of the page, with its panel. */
export type AccessPlace = PageSearch<AccessSearch, (typeof accessPanels)[number]>;

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateAccessSearch(search: Record<string, unknown>): AccessSearch {
  const view = accessViews.find((each) => each !== 'tokens' && each === search.view);
  return { ...readList(search, auditFilters, accessPanels), ...(view && { view }) };
}
