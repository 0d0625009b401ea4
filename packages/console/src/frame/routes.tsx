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
import { validateExportsSearch } from '../exports/search.ts';
import { validateRecordsSearch } from '../records/search.ts';
import { validateRetentionSearch } from '../retention/search.ts';
import { FailurePanel } from '../ui/freshness.tsx';
import { parseSearch, stringifySearch, validateSignInSearch } from '../ui/hash-state.ts';
import { lazyPage, useIdlePreload } from '../ui/lazy-part.tsx';
import { useSession } from '../ui/session.ts';
import { ToastList } from '../ui/toasts.tsx';
import {
  validateDeliveriesSearch,
  validateDlqSearch,
  validateEndpointsSearch,
  validateIncidentsSearch,
} from '../webhooks/search.ts';
import { Frame, KeyHelp, Menu, StepUpDialog } from './frame.tsx';
import { NotFoundPage, RequireScope } from './no-access.tsx';
import { type ConsolePage, pages } from './pages.ts';
import { actorQuery, SessionGate, SignInAgain } from './session.tsx';

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
const RecordsPage = lazyPage('RecordsPage', () => import('../records/page.tsx'));
const ExportsPage = lazyPage('ExportsPage', () => import('../exports/page.tsx'));
const RetentionPage = lazyPage('RetentionPage', () => import('../retention/page.tsx'));
const DlqPage = lazyPage('DlqPage', () => import('../webhooks/dlq/page.tsx'));
const DeliveriesPage = lazyPage('DeliveriesPage', () => import('../webhooks/deliveries-page.tsx'));
const EndpointsPage = lazyPage('EndpointsPage', () => import('../webhooks/endpoints/page.tsx'));
const IncidentsPage = lazyPage('IncidentsPage', () => import('../webhooks/incidents/page.tsx'));
const AccessPage = lazyPage('AccessPage', () => import('../access/page.tsx'));

type Raw = Record<string, unknown>;

/** The route of a page, which only those see whose token has its scope. */
function pageRoute<const Path extends ConsolePage['path'], Search extends object>(
  path: Path,
  Page: typeof OverviewPage,
  validateSearch: (raw: Raw) => Search,
) {
  const scope = pages.find((page) => page.path === path)?.scope ?? null;
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
        <RequireScope scope={scope}>
          <Page />
        </RequireScope>
      ),
  });
}

const unknownRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '$',
  component: NotFoundPage,
});

const routeTree = rootRoute.addChildren([
  signInRoute,
  framedRoute.addChildren([
    pageRoute('/', OverviewPage, (raw): Raw => raw),
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
    defaultNotFoundComponent: NotFoundPage,
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
    ...[StepUpDialog, SignInAgain, ToastList, KeyHelp, Menu],
    OverviewPage,
    ...(hasScope('enrichment:read') ? [RecordsPage, RetentionPage] : []),
    ...(hasScope('analytics:read') ? [ExportsPage] : []),
    ...(hasScope('incidents:read') ? [IncidentsPage] : []),
    ...(hasScope('admin') ? [DlqPage, DeliveriesPage, EndpointsPage, AccessPage] : []),
  ]);
  return null;
}

function PageFault({ error, reset }: ErrorComponentProps): ReactNode {
  const fault = error instanceof Error ? error : new Error(String(error));
  return <FailurePanel error={fault} onRetry={reset} />;
}
