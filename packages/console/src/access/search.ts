import { dayPattern } from '../ui/days.ts';
import { noneOf, textOf, withoutUndefined } from '../ui/hash-state.ts';
import { readPanel } from '../ui/panel-place.ts';

export const accessViews = ['tokens', 'sessions', 'audit', 'notices'] as const;
export type AccessView = (typeof accessViews)[number];

/** View state of the page ACCESS. The filters are those of the audit log. */
export type AccessSearch = {
  /** Undefined means the tokens. */
  view?: AccessView;
  /** The id of a token. */
  actor?: string;
  action?: string;
  tenant?: string;
  from?: string;
  to?: string;
  cursor?: string;
  panel?: string;
};

/** The panels of ACCESS: a new token, an entry of the audit log by its place, and somebody new to be told. */
export const accessPanels = ['new-token', 'entry', 'new-target'] as const;

/** No filter of the audit log, for those who clear all. */
export const noAuditFilter = noneOf('actor', 'action', 'tenant', 'from', 'to');

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateAccessSearch(search: Record<string, unknown>): AccessSearch {
  return withoutUndefined({
    view: accessViews.find((view) => view !== 'tokens' && view === search.view),
    actor: textOf(search.actor),
    action: textOf(search.action),
    tenant: textOf(search.tenant),
    from: textOf(search.from, dayPattern),
    to: textOf(search.to, dayPattern),
    cursor: textOf(search.cursor),
    panel: readPanel(search, accessPanels),
  });
}
