import type { QueryClient } from '@tanstack/react-query';
import {
  createHashHistory,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Outlet,
} from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { validateAccessSearch } from '../access/search.ts';
import type { Scope } from '../api/values.ts';
import { validateExportsSearch } from '../exports/search.ts';
import { validateJobsSearch } from '../jobs/search.ts';
import { validateRecordsSearch } from '../records/search.ts';
import { validateRetentionSearch } from '../retention/search.ts';
import { FailurePanel } from '../ui/freshness.tsx';
import { parseSearch, stringifySearch, validateSignInSearch } from '../ui/hash-state.ts';
import { lazyPage, useIdlePreload } from '../ui/lazy-part.tsx';
import { useSession } from '../ui/session.ts';
import { ToastList, Toasts } from '../ui/toasts.tsx';
import { ZoneSwitch } from '../ui/zone-switch.tsx';
import {
  validateDeliveriesSearch,
  validateDlqSearch,
  validateEndpointsSearch,
  validateIncidentsSearch,
} from '../webhooks/search.ts';
import { Frame, KeptDialog, KeyHelp, Menu, StepUpDialog } from './frame.tsx';
import { type ConsolePage, pages } from './pages.ts';
import { actorQuery, SessionGate, SignInAgain } from './session.tsx';
import { ThemeSwitch } from './tools.tsx';

const rootRoute = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet });

const SignInPage = lazyPage('SignInPage', () => import('./sign-in.tsx'));

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: validateSignInSearch,
  beforeLoad: ({ context }) => void SignInPage.preload(context.client),
  component: () => <SignInPage />,
});

const framedRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'framed',
  // The session is looked up at once, while the scripts of the page still load.
  beforeLoad: ({ context }) => void context.client.prefetchQuery(actorQuery),
  component: Framed,
});

const OverviewPage = lazyPage('OverviewPage', () => import('../overview/page.tsx'));
const JobsPage = lazyPage('JobsPage', () => import('../jobs/page.tsx'));
const RecordsPage = lazyPage('RecordsPage', () => import('../records/page.tsx'));
const ExportsPage = lazyPage('ExportsPage', () => import('../exports/page.tsx'));
const RetentionPage = lazyPage('RetentionPage', () => import('../retention/page.tsx'));
const DlqPage = lazyPage('DlqPage', () => import('../webhooks/dlq/page.tsx'));
const DeliveriesPage = lazyPage('DeliveriesPage', () => import('../webhooks/deliveries-page.tsx'));
const EndpointsPage = lazyPage('EndpointsPage', () => import('../webhooks/endpoints/page.tsx'));
const IncidentsPage = lazyPage('IncidentsPage', () => import('../webhooks/incidents/page.tsx'));
const AccessPage = lazyPage('AccessPage', () => import('../access/page.tsx'));
// Few see either, so they are no part of the first load.
const NoAccess = lazyPage('NoAccess', () => import('./no-page.tsx'));
const NotFound = lazyPage('NotFound', () => import('./no-page.tsx'));

/**
 * What the portal shows that the console has loaded by now. It is given to the portal, which else would have it put into
 * scripts of its own, and these would take more bytes and requests of whoever opens the console.
 */
export const portalParts = {
  EndpointsPage,
  DeliveriesPage,
  IncidentsPage,
  PageFault,
  actorQuery,
  ThemeSwitch,
  ZoneSwitch,
  Toasts,
};

type Raw = Record<string, unknown>;

/** The route of a page, which only those see whose token has its scope. */
function pageRoute<const Path extends ConsolePage['path'], Search extends object>(
  path: Path,
  Page: typeof OverviewPage,
  validateSearch: (raw: Raw) => Search,
) {
  const { scope = null, orScope } = pages.find((page) => page.path === path) ?? {};
  return createRoute({
    getParentRoute: () => framedRoute,
    path,
    validateSearch,
    // The page's script loads while the session is looked up, not afterwards.
    beforeLoad: ({ context }) => void Page.preload(context.client),
    component: () =>
      scope === null ? (
        <Page />
      ) : (
        <RequireScope scope={scope} orScope={orScope}>
          <Page />
        </RequireScope>
      ),
  });
}

const unknownRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '$',
  component: () => <NotFound />,
});

const routeTree = rootRoute.addChildren([
  signInRoute,
  framedRoute.addChildren([
    pageRoute('/', OverviewPage, (raw): Raw => raw),
    pageRoute('/jobs', JobsPage, validateJobsSearch),
    pageRoute('/records', RecordsPage, validateRecordsSearch),
    pageRoute('/exports', ExportsPage, validateExportsSearch),
    pageRoute('/retention', RetentionPage, validateRetentionSearch),
    pageRoute('/dlq', DlqPage, validateDlqSearch),
    pageRoute('/deliveries', DeliveriesPage, validateDeliveriesSearch),
    pageRoute('/endpoints', EndpointsPage, validateEndpointsSearch),
    pageRoute('/incidents', IncidentsPage, validateIncidentsSearch),
    pageRoute('/access', AccessPage, validateAccessSearch),
    unknownRoute,
  ]),
]);

/** The router, which finds the page by the hash: `#/records?tenant=TX`. */
export function createConsoleRouter(client: QueryClient) {
  return createRouter({
    routeTree,
    context: { client },
    history: createHashHistory(),
    parseSearch,
    stringifySearch,
    defaultPreload: false,
    // Each page keeps its own scroll positions.
    scrollRestoration: false,
    defaultErrorComponent: PageFault,
    defaultNotFoundComponent: () => <NotFound />,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}

function Framed(): ReactNode {
  return (
    <SessionGate>
      <Frame />
      <Ahead />
    </SessionGate>
  );
}

/** Loads what the person may open next: first what a key opens at once, then the pages. */
function Ahead(): null {
  const { hasScope } = useSession();
  useIdlePreload([
    ...[StepUpDialog, KeptDialog, SignInAgain, ToastList, KeyHelp, Menu],
    OverviewPage,
    JobsPage,
    ...(hasScope('enrichment:read') ? [RecordsPage, RetentionPage] : []),
    ...(hasScope('analytics:read') ? [ExportsPage] : []),
    ...(hasScope('incidents:read') ? [IncidentsPage] : []),
    ...(hasScope('webhooks:read') ? [DeliveriesPage, EndpointsPage] : []),
    ...(hasScope('admin') ? [DlqPage] : []),
    ...(hasScope('audit:read') || hasScope('retention:manage') ? [AccessPage] : []),
  ]);
  return null;
}

function PageFault({ error, reset }: ErrorComponentProps): ReactNode {
  const fault = error instanceof Error ? error : new Error(String(error));
  return <FailurePanel error={fault} onRetry={reset} />;
}

/** Shows its children if the token has one of the scopes, and otherwise says which scope is needed. */
function RequireScope(props: {
  scope: Scope;
  orScope: Scope | undefined;
  children: ReactNode;
}): ReactNode {
  const { scope, orScope = scope } = props;
  const { hasScope } = useSession();
  return hasScope(scope) || hasScope(orScope) ? props.children : <NoAccess scope={scope} />;
}
