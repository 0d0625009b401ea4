import { useWindowEvent } from '@mantine/hooks';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  Navigate,
  Outlet,
  useNavigate,
  useSearch,
} from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { ApiError, api, sessionEndedEvent } from '../api/client.ts';
import type { Actor } from '../api/types.ts';
import { includesScope } from '../api/values.ts';
import { Banner, FailurePanel, useFailure } from '../ui/freshness.tsx';
import { parseSearch, stringifySearch, validateSignInSearch } from '../ui/hash-state.ts';
import { reasonOf } from '../ui/outage.ts';
import { PanelSlot } from '../ui/panel.tsx';
import { SessionContext } from '../ui/session.ts';
import classes from './frame.module.css';
import navigationClasses from './navigation.module.css';
import { pages } from './pages.ts';
import type { portalParts } from './routes.tsx';
import toolsClasses from './tools.module.css';

const shownPaths = ['/endpoints', '/deliveries', '/incidents'] as const;

type Parts = typeof portalParts;

/** The router of the portal: the pages about webhooks alone, in a frame of its own. */
export function createPortalRouter(client: QueryClient, parts: Parts) {
  const { EndpointsPage, DeliveriesPage, IncidentsPage } = parts;
  void client.prefetchQuery(parts.actorQuery);
  const root = createRootRoute({ component: Outlet });
  const framed = createRoute({
    getParentRoute: () => root,
    id: 'framed',
    component: () => <PortalGate parts={parts} />,
  });
  const page = { getParentRoute: () => framed };
  return createRouter({
    routeTree: root.addChildren([
      createRoute({
        getParentRoute: () => root,
        path: '/open',
        component: () => <OpenPage parts={parts} />,
      }),
      framed.addChildren([
        createRoute({ ...page, path: '/endpoints', component: () => <EndpointsPage /> }),
        createRoute({ ...page, path: '/deliveries', component: () => <DeliveriesPage /> }),
        createRoute({ ...page, path: '/incidents', component: () => <IncidentsPage /> }),
        createRoute({ ...page, path: '/', component: ToEndpoints }),
        createRoute({ ...page, path: '$', component: ToEndpoints }),
      ]),
    ]),
    history: createHashHistory(),
    parseSearch,
    stringifySearch,
    defaultPreload: false,
    scrollRestoration: false,
    defaultErrorComponent: parts.PageFault,
  });
}

function ToEndpoints(): ReactNode {
  return <Navigate to="/endpoints" search={{}} replace />;
}

/** Opens the portal by the code of a link, which counts once; as a query it is sent once, however often this is drawn. */
function OpenPage({ parts }: { parts: Parts }): ReactNode {
  const { code = '' } = validateSignInSearch(useSearch({ strict: false }));
  const client = useQueryClient();
  const navigate = useNavigate();
  const opening = useQuery({
    queryKey: ['portal', code],
    queryFn: () => api.post<Actor>('/portal/session', { code }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnMount: false,
    retry: false,
  });
  const { data } = opening;
  useEffect(() => {
    if (data === undefined) return;
    client.setQueryData(parts.actorQuery.queryKey, data);
    // The code is of no use any more, and goes from the address.
    void navigate({ to: '/endpoints', search: {}, replace: true });
  }, [client, data, navigate, parts]);
  if (opening.error !== null) return <Ended reason={reasonOf(opening.error)} />;
  return <p className="message">Opening …</p>;
}

/** Shows the portal to whoever has opened a link, as long as that counts. */
function PortalGate({ parts }: { parts: Parts }): ReactNode {
  const me = useQuery(parts.actorQuery);
  const failure = useFailure(me);
  const [hasEnded, setEnded] = useState(false);
  useWindowEvent(sessionEndedEvent, () => setEnded(true));
  const actor = me.data;
  const session = useMemo(
    () =>
      actor && {
        actor,
        hasScope: (scope: Actor['scopes'][number]) => includesScope(actor.scopes, scope),
        signOut: () => api.delete('/portal/session'),
      },
    [actor],
  );
  const isOut = failure instanceof ApiError && failure.status === 401;
  if (isOut || hasEnded) return <Ended reason="The link that opened this has ended." />;
  if (session === undefined) {
    return failure && <FailurePanel error={failure} onRetry={() => void me.refetch()} />;
  }
  return (
    <SessionContext value={session}>
      <PortalFrame tenant={session.actor.tenants?.[0] ?? ''} parts={parts} />
    </SessionContext>
  );
}

/** Says that there is nothing to see any more, also to the page that has the portal in a frame. */
function Ended({ reason }: { reason: string }): ReactNode {
  useEffect(() => {
    // It tells nothing but that, so it may be any page that hears it.
    if (window.parent !== window) window.parent.postMessage('svcctl:portal-ended', '*');
  }, []);
  return (
    <section className="message" role="alert">
      <h1>Open your webhooks again</h1>
      <p>{reason}</p>
      <p>Go back to the application that you came from, and open them from there.</p>
    </section>
  );
}

/** What surrounds the pages of the portal. */
function PortalFrame({ tenant, parts }: { tenant: string; parts: Parts }): ReactNode {
  const { ThemeSwitch, ZoneSwitch, Toasts } = parts;
  const [panelSlot, setPanelSlot] = useState<HTMLElement | null>(null);
  return (
    <div className={classes.frame} style={{ '--svc-nav': '0px' } as object}>
      <header className={`row wrap gap-12 line-under ${classes.header}`}>
        <h1 className={`cut ${classes.title}`}>{tenant}</h1>
        <nav aria-label="Pages" className="row">
          {shownPaths.map((path) => (
            <Link
              key={path}
              to={path}
              search={{}}
              className={`hover row ink small nowrap ${navigationClasses.link}`}
              activeOptions={{ includeSearch: false, exact: true }}
            >
              {pages.find((shown) => shown.path === path)?.name}
            </Link>
          ))}
        </nav>
        <span className={`row gap-4 push ${toolsClasses.tools}`}>
          <ZoneSwitch />
          <ThemeSwitch />
        </span>
      </header>
      <Banner className={classes.banner} />
      <main id="page" tabIndex={-1} className={classes.page}>
        <PanelSlot value={panelSlot}>
          <Outlet />
        </PanelSlot>
      </main>
      <div ref={setPanelSlot} className={classes.panel} />
      <Toasts />
    </div>
  );
}
