import type { Scope } from '../api/values.ts';
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

/** The scope that each needs; null: any that opens the page. Of what waits, only admins see that of others. */
export const viewScopes: Readonly<Record<AccessView, Scope | null>> = {
  tokens: 'audit:read',
  sessions: 'audit:read',
  approvals: 'retention:manage',
  portal: 'admin',
  audit: 'audit:read',
  notices: 'admin',
  rights: null,
};

/** View state of the page ACCESS. The filters are those of the audit log. */
type AccessSearch = ListSearch<typeof auditFilters> & {
  /** Undefined means the tokens. */
  view?: AccessView;
};

/** The panels of ACCESS: what can be made, `rotate` for the secret of a token, entries of the log by place, and notices. */
export const accessPanels = [
  'new-token',
  'rotate',
  'approval',
  'new-link',
  'entry',
  'new-target',
  'notice',
] as const;

/** The state of the page, with its panel. */
export type AccessPlace = PageSearch<AccessSearch, (typeof accessPanels)[number]>;

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateAccessSearch(search: Record<string, unknown>): AccessSearch {
  const view = accessViews.find((each) => each !== 'tokens' && each === search.view);
  return { ...readList(search, auditFilters, accessPanels), ...(view && { view }) };
}
