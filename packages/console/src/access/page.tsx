import { type ReactNode, useRef } from 'react';
import { auditFilters } from '../api/views.ts';
import { noneOf } from '../ui/hash-state.ts';
import { ListPage, ViewSwitch } from '../ui/list-page.tsx';
import { useSession } from '../ui/session.ts';
import { usePageSearch } from '../ui/use-search.ts';
import { ApprovalPanel, ApprovalsView } from './approvals-view.tsx';
import { AuditView } from './audit-view.tsx';
import { EntryPanel } from './entry-panel.tsx';
import { NewLinkPanel } from './new-link-panel.tsx';
import { NewTargetPanel } from './new-target-panel.tsx';
import { NewTokenPanel, RotatePanel } from './new-token-panel.tsx';
import { NoticesView } from './notices-view.tsx';
import { PortalView } from './portal-view.tsx';
import { RightsView } from './rights-view.tsx';
import { accessPanels, accessViews, validateAccessSearch, viewScopes } from './search.ts';
import { SessionsView } from './sessions-view.tsx';
import { TokensView } from './tokens-view.tsx';

/** The page ACCESS: who may come in, who is in, who did what, and who is told of what is wrong. */
export function AccessPage(): ReactNode {
  const page = usePageSearch('/access', validateAccessSearch, accessPanels);
  const [search, update, panel] = page;
  const { hasScope } = useSession();
  const mayShow = accessViews.filter((each) => {
    const scope = viewScopes[each];
    return scope === null || hasScope(scope);
  });
  const view = mayShow.find((each) => each === search.view) ?? mayShow[0] ?? 'rights';
  const chosen = useRef<typeof view | null>(null);
  const views = (
    <ViewSwitch
      label="What of the access is shown"
      views={mayShow}
      view={view}
      isCaps
      chosen={chosen}
      onView={(next) =>
        update({
          ...noneOf(auditFilters),
          view: next === 'tokens' ? undefined : next,
          panel: undefined,
        })
      }
    />
  );
  const entry = panel.idOf('entry');
  const approval = panel.idOf('approval');
  const rotated = panel.idOf('rotate');
  return (
    <ListPage>
      {view === 'tokens' && (
        <TokensView
          views={views}
          onNew={() => panel.open('new-token')}
          onRotate={(id) => panel.open('rotate', id)}
          onAudit={(actor) => update({ view: 'audit', actor, panel: undefined })}
        />
      )}
      {view === 'sessions' && <SessionsView views={views} />}
      {view === 'rights' && <RightsView views={views} />}
      {view === 'approvals' && (
        <ApprovalsView views={views} open={approval} onOpen={(id) => panel.open('approval', id)} />
      )}
      {view === 'portal' && <PortalView views={views} onNew={() => panel.open('new-link')} />}
      {view === 'audit' && <AuditView page={page} views={views} />}
      {view === 'notices' && (
        <NoticesView
          views={views}
          onNew={() => panel.open('new-target')}
          open={panel.idOf('notice')}
          onOpen={(id) => panel.open('notice', id)}
          onClose={panel.close}
        />
      )}
      {panel.place?.kind === 'new-target' && <NewTargetPanel onClose={panel.close} />}
      {panel.place?.kind === 'new-link' && <NewLinkPanel onClose={panel.close} />}
      {panel.place?.kind === 'new-token' && <NewTokenPanel onClose={panel.close} />}
      {rotated !== undefined && <RotatePanel key={rotated} id={rotated} onClose={panel.close} />}
      {approval !== undefined && <ApprovalPanel id={approval} onClose={panel.close} />}
      {entry !== undefined && <EntryPanel place={entry} onClose={panel.close} />}
    </ListPage>
  );
}
