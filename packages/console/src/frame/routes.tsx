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
import { Frame, KeyHelp, StepUpDialog } from './frame.tsx';
import { Menu } from './menu-button.tsx';
import { NotFoundPage, RequireScope } from './no-access.tsx';
import { actorQuery, SessionGate, SignInAgain } from './session.tsx';

const rootRoute = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet });

const SignInPage = lazyPage(
  'frame/sign-in',
  async () => (await import('./sign-in.tsx')).SignInPage,
);

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

const OverviewPage = lazyPage(
  'overview/page',
  async () => (await import('../overview/page.tsx')).OverviewPage,
);

const overviewRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/',
  // The page's script loads while the session is looked up, not afterwards.
  beforeLoad: ({ context }) => void OverviewPage.preload(context.client),
  component: () => <OverviewPage />,
});

const RecordsPage = lazyPage(
  'records/page',
  async () => (await import('../records/page.tsx')).RecordsPage,
);

const recordsRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/records',
  validateSearch: validateRecordsSearch,
  beforeLoad: ({ context }) => void RecordsPage.preload(context.client),
  component: () => (
    <RequireScope scope="enrichment:read">
      <RecordsPage />
    </RequireScope>
  ),
});

const ExportsPage = lazyPage(
  'exports/page',
  async () => (await import('../exports/page.tsx')).ExportsPage,
);

const exportsRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/exports',
  validateSearch: validateExportsSearch,
  beforeLoad: ({ context }) => void ExportsPage.preload(context.client),
  component: () => (
    <RequireScope scope="analytics:read">
      <ExportsPage />
    </RequireScope>
  ),
});

const RetentionPage = lazyPage(
  'retention/page',
  async () => (await import('../retention/page.tsx')).RetentionPage,
);

const retentionRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/retention',
  validateSearch: validateRetentionSearch,
  beforeLoad: ({ context }) => void RetentionPage.preload(context.client),
  component: () => (
    <RequireScope scope="enrichment:read">
      <RetentionPage />
    </RequireScope>
  ),
});

const DlqPage = lazyPage(
  'webhooks/dlq/page',
  async () => (await import('../webhooks/dlq/page.tsx')).DlqPage,
);

const dlqRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/dlq',
  validateSearch: validateDlqSearch,
  beforeLoad: ({ context }) => void DlqPage.preload(context.client),
  component: () => (
    <RequireScope scope="admin">
      <DlqPage />
    </RequireScope>
  ),
});

const DeliveriesPage = lazyPage(
  'webhooks/deliveries-page',
  async () => (await import('../webhooks/deliveries-page.tsx')).DeliveriesPage,
);

const deliveriesRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/deliveries',
  validateSearch: validateDeliveriesSearch,
  beforeLoad: ({ context }) => void DeliveriesPage.preload(context.client),
  component: () => (
    <RequireScope scope="admin">
      <DeliveriesPage />
    </RequireScope>
  ),
});

const EndpointsPage = lazyPage(
  'webhooks/endpoints/page',
  async () => (await import('../webhooks/endpoints/page.tsx')).EndpointsPage,
);

const endpointsRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/endpoints',
  validateSearch: validateEndpointsSearch,
  beforeLoad: ({ context }) => void EndpointsPage.preload(context.client),
  component: () => (
    <RequireScope scope="admin">
      <EndpointsPage />
    </RequireScope>
  ),
});

const IncidentsPage = lazyPage(
  'webhooks/incidents/page',
  async () => (await import('../webhooks/incidents/page.tsx')).IncidentsPage,
);

const incidentsRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/incidents',
  validateSearch: validateIncidentsSearch,
  beforeLoad: ({ context }) => void IncidentsPage.preload(context.client),
  component: () => (
    <RequireScope scope="incidents:read">
      <IncidentsPage />
    </RequireScope>
  ),
});

const AccessPage = lazyPage(
  'access/page',
  async () => (await import('../access/page.tsx')).AccessPage,
);

const accessRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '/access',
  validateSearch: validateAccessSearch,
  beforeLoad: ({ context }) => void AccessPage.preload(context.client),
  component: () => (
    <RequireScope scope="admin">
      <AccessPage />
    </RequireScope>
  ),
});

const unknownRoute = createRoute({
  getParentRoute: () => framedRoute,
  path: '$',
  component: NotFoundPage,
});

const routeTree = rootRoute.addChildren([
  signInRoute,
  framedRoute.addChildren([
    overviewRoute,
    recordsRoute,
    exportsRoute,
    retentionRoute,
    dlqRoute,
    deliveriesRoute,
    endpointsRoute,
    incidentsRoute,
    accessRoute,
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
