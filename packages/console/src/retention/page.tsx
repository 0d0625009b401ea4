import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { RetentionMove, TenantState, Verification } from '../api/types.ts';
import { moveFilters } from '../api/views.ts';
import { useAct } from '../ui/act.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListPage, ViewSwitch } from '../ui/list-page.tsx';
import { MonthSums } from '../ui/month-sums.tsx';
import type { PanelPlace } from '../ui/panel-place.ts';
import { useSession } from '../ui/session.ts';
import { type Column, idOf } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { FilteredList } from '../ui/table/filtered-list.tsx';
import { type PageSearch, usePageSearch } from '../ui/use-search.ts';
import { isAtWork, useFailures, useMoves, usePlan, useSums, useTenants } from './calls.ts';
import { FailureAlert, Head, NeedsAdmin, StoreAlert, VerifyButton } from './head.tsx';
import { JobLines, type Jobs, useRuns, useVerifications } from './jobs.tsx';
import { Stepper } from './marks.tsx';
import { MoveDrawer } from './move-drawer.tsx';
import { RunDialog } from './plan.tsx';
import {
  type RetentionPanel,
  type RetentionSearch,
  retentionPanels,
  tenantFilters,
  validateRetentionSearch,
} from './search.ts';
import { TenantDrawer } from './tenants/tenant-drawer.tsx';
import { tenantColumns } from './tenants/tenants-table.tsx';
import { VerificationDrawer } from './verification-drawer.tsx';
import { daysText, kindWords, shownState } from './words.ts';

const IcebergDrawer = lazyPart('IcebergDrawer', () => import('./iceberg-drawer.tsx'));

/** The page RETENTION: what is hot and what is cold, the policies, the journal of moves, and the verifications. */
export function RetentionPage(): ReactNode {
  const page = usePageSearch('/retention', validateRetentionSearch, retentionPanels);
  const [, update, panel] = page;
  const mayAct = useSession().hasScope('retention:manage');
  const head = { sums: useSums(), plan: usePlan({}, 1) };
  const failures = useFailures();
  const [runs, verifications] = [useRuns(), useVerifications()];
  const verify = useVerify(verifications);
  const run = panel.idOf('run');
  return (
    <ListPage>
      <StoreAlert store={head.plan.data?.store} />
      <FailureAlert failures={failures.data ?? []} />
      <Head
        {...head}
        verifications={verifications.list}
        onVerification={(id) => panel.open('verification', id)}
      />
      <MonthSums
        height={96}
        onOpen={(month) => update({ view: 'journal', month, cursor: undefined })}
      />
      <JobLines runs={runs} verifications={verifications} />
      <Lists
        page={page}
        head={[head.sums, head.plan]}
        actions={
          mayAct ? (
            <>
              <VerifyButton isVerifying={verify.isBusy} onVerify={() => verify.start(undefined)} />
              <Button variant="filled" onClick={() => panel.open('run')}>
                RUN NOW…
              </Button>
            </>
          ) : (
            <NeedsAdmin what="RUN NOW and VERIFY" />
          )
        }
      />
      <Panels
        place={panel.place}
        mayAct={mayAct}
        isVerifying={verify.isBusy}
        onRun={(tenant) => panel.open('run', tenant, { isInside: true })}
        onVerify={verify.start}
        onClose={panel.close}
      />
      <RunDialog
        tenant={run === '' ? undefined : run}
        isOpen={run !== undefined && mayAct}
        onClose={panel.close}
        onStarted={runs.follow}
      />
    </ListPage>
  );
}

/** The tenants, or the journal of moves. */
function Lists(props: {
  page: PageSearch<RetentionSearch, RetentionPanel>;
  /** What stands above them. */
  head: readonly UseQueryResult<unknown>[];
  actions: ReactNode;
}): ReactNode {
  const { page, actions } = props;
  const [search, update, panel] = page;
  const isJournal = search.view === 'journal';
  const [tenants, moves] = [useTenants(search), useMoves(search)];
  const bar = {
    page,
    queries: [...props.head, isJournal ? moves : tenants],
    views: (
      <ViewSwitch
        label="View"
        views={['tenants', 'journal']}
        view={isJournal ? 'journal' : 'tenants'}
        onView={(view) =>
          update({ view: view === 'journal' ? view : undefined, cursor: undefined })
        }
      />
    ),
    actions,
  };
  if (isJournal) {
    return (
      <FilteredList
        {...bar}
        opens="move"
        label="Journal of moves"
        one="move"
        columns={moveColumns}
        keyOf={idOf}
        query={moves}
        filters={moveFilters}
        filterWords={{ state: { removed: shownState('removed') } }}
        words={{ none: 'Nothing was moved yet', advice: whatTheJournalHas }}
      />
    );
  }
  return (
    <FilteredList
      {...bar}
      opens="tenant"
      one="tenant"
      columns={tenantColumns}
      keyOf={tenantOf}
      query={tenants}
      filters={tenantFilters}
      searched="q"
      beside={
        <>
          <Button variant="subtle" onClick={() => panel.open('tenant', '*')}>
            Default policy…
          </Button>
          <Button variant="subtle" onClick={() => panel.open('iceberg')}>
            Iceberg table…
          </Button>
        </>
      }
      words={{ none: 'No records yet' }}
    />
  );
}

const tenantOf = ({ tenant }: TenantState) => tenant;

const whatTheJournalHas = (
  <p>Each run writes its moves here, with the proof that nothing was lost.</p>
);

/** Starts verifications; without a tenant everything is verified. */
function useVerify(verifications: Jobs<Verification>) {
  const start = useAct({
    call: (tenant: string | undefined) =>
      api.post<Verification>('/retention/verify', tenant === undefined ? {} : { tenant }),
    onDone: verifications.follow,
    failed: 'No verification was started',
  });
  const { shown } = verifications;
  const isBusy = start.isPending || (shown !== undefined && isAtWork(shown));
  return { isBusy, start: (tenant: string | undefined) => start.mutate(tenant) };
}

/** The panel that is open, if any. The question before a run is a dialog. */
function Panels(props: {
  place: PanelPlace<RetentionPanel> | undefined;
  mayAct: boolean;
  isVerifying: boolean;
  onRun: (tenant: string) => void;
  onVerify: (tenant: string) => void;
  onClose: () => void;
}): ReactNode {
  const { place, onClose } = props;
  if (place === undefined || place.kind === 'run') return null;
  const { kind, id } = place;
  switch (kind) {
    case 'tenant':
      return (
        <TenantDrawer
          tenant={id}
          mayAct={props.mayAct}
          isVerifying={props.isVerifying}
          onRun={() => props.onRun(id)}
          onVerify={() => props.onVerify(id)}
          onClose={onClose}
        />
      );
    case 'iceberg':
      return <IcebergDrawer onClose={onClose} />;
    case 'move':
      return <MoveDrawer id={id} onClose={onClose} />;
    case 'verification':
      return <VerificationDrawer id={id} onClose={onClose} />;
  }
}

/** How many records a move copies, or deletes. */
function countOfMove({ kind, source, gone }: RetentionMove): number | null {
  if (kind === 'delete' || kind === 'erase') return gone.count;
  return source?.count ?? null;
}

const column = columnsOf<RetentionMove>();

/** The columns of the journal of moves. */
const moveColumns: readonly Column<RetentionMove>[] = [
  column.moment('planned_at', 'PLANNED', 96, { rank: 2, card: 'note' }),
  column.text('tenant', 'TENANT', 104, { card: 'title' }),
  column.own('kind', 'KIND', 88, {
    card: 'title',
    cell: ({ kind }) => <span title={kindWords[kind]}>{kind}</span>,
  }),
  column.own('days', 'DAYS', 176, {
    card: 'title',
    value: ({ first_day, last_day }) => daysText(first_day, last_day),
  }),
  column.count('records', 'RECORDS', 96, { card: 'fact', value: countOfMove }),
  column.bytes('stored_bytes', 'STORED IN', 88, { rank: 1, card: 'fact' }),
  column.own('state', 'STEPS', 176, {
    isMain: true,
    card: 'line',
    cell: (move) => <Stepper move={move} />,
  }),
];
