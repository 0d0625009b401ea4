import { type UseQueryResult, useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, isStepUp } from '../api/client.ts';
import type { Page, RetentionMove, TenantState, Verification } from '../api/types.ts';
import { FreshnessBanner } from '../ui/freshness.tsx';
import { Empty, List, Pager } from '../ui/list.tsx';
import classes from '../ui/list-page.module.css';
import { NowProvider } from '../ui/marks.tsx';
import { reasonOf } from '../ui/outage.ts';
import { PollNote } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { notify } from '../ui/toasts.tsx';
import { type UpdateSearch, useDrawerStep, usePageSearch } from '../ui/use-search.ts';
import { FailureAlert, StoreAlert } from './alert.tsx';
import { Bar, hasFilter, noFilter } from './bar.tsx';
import { useFailures, useMoves, usePlan, useSums, useTenants } from './calls.ts';
import { Drawers, useDrawerQueries } from './drawers.tsx';
import { Head, HeadActions } from './head.tsx';
import { JobLines } from './job-lines.tsx';
import { isAtWork, type Jobs, useRuns, useVerifications } from './jobs.ts';
import { JournalTable } from './journal/journal-table.tsx';
import { RunDialog } from './run-dialog.tsx';
import {
  drawerFields,
  drawerOf,
  parsePlaceText,
  placeText,
  type RetentionSearch,
  validateRetentionSearch,
} from './search.ts';
import { TenantsTable } from './tenants/tenants-table.tsx';

/** RETENTION: what lies hot and cold, the policies, the journal of moves, and the proof of it all. */
export function RetentionPage(): ReactNode {
  const [search, update] = usePageSearch('/retention', validateRetentionSearch);
  const mayAct = useSession().hasScope('admin');
  const isJournal = search.view === 'journal';
  const head = { sums: useSums(), plan: usePlan({}, 1) };
  const [failures, tenants, moves] = [useFailures(), useTenants(search), useMoves(search)];
  const [runs, verifications] = [useRuns(), useVerifications()];
  const verify = useVerify(verifications);
  const drawer = useDrawer(search, update);
  const queries = useDrawerQueries(drawer.place);
  const [asked, setAsked] = useState<{ tenant: string | undefined } | null>(null);
  const main: UseQueryResult[] = [head.sums, head.plan, isJournal ? moves : tenants];
  const watched = [...main, failures, runs.list, verifications.list, ...queries.watched];
  return (
    <NowProvider>
      <div className={classes.page}>
        <FreshnessBanner queries={watched} isAgeElsewhere />
        <StoreAlert store={head.plan.data?.store} />
        <FailureAlert failures={failures.data ?? []} />
        <Head
          {...head}
          verifications={verifications.list}
          onVerification={(id) => drawer.open(placeText({ kind: 'verify', id }))}
        />
        <JobLines runs={runs} verifications={verifications} />
        <Bar
          search={search}
          update={update}
          onDefaultPolicy={() => drawer.open(placeText({ kind: 'tenant', id: '*' }))}
        >
          <PollNote queries={main} />
          <HeadActions
            mayAct={mayAct}
            isVerifying={verify.isBusy}
            onRun={() => setAsked({ tenant: undefined })}
            onVerify={() => verify.start(undefined)}
          />
        </Bar>
        {isJournal ? (
          <Journal list={moves} search={search} update={update} onOpen={drawer.open} />
        ) : (
          <Tenants list={tenants} search={search} update={update} onOpen={drawer.open} />
        )}
        <Drawers
          place={drawer.place}
          queries={queries}
          mayAct={mayAct}
          isVerifying={verify.isBusy}
          onRun={(tenant) => setAsked({ tenant })}
          onVerify={verify.start}
          onClose={drawer.close}
        />
        <RunDialog
          tenant={asked?.tenant}
          isOpen={asked !== null}
          onClose={() => setAsked(null)}
          onStarted={runs.follow}
        />
      </div>
    </NowProvider>
  );
}

type Update = UpdateSearch<RetentionSearch>;

/** One of the drawers, as a place of the hash. */
function useDrawer(search: RetentionSearch, update: Update) {
  const place = drawerOf(search);
  const step = useDrawerStep(place && placeText(place), (next, options) =>
    update(drawerFields(next === undefined ? undefined : parsePlaceText(next)), options),
  );
  return { place, ...step };
}

function useVerify(verifications: Jobs<Verification>) {
  const start = useMutation({
    mutationFn: (tenant: string | undefined) =>
      api.post<Verification>('/retention/verify', tenant === undefined ? {} : { tenant }),
    onSuccess: verifications.follow,
    onError: (error: Error) => {
      if (!isStepUp(error)) notify({ text: `No verification was started. ${reasonOf(error)}` });
    },
  });
  const { shown } = verifications;
  const isBusy = start.isPending || (shown !== undefined && isAtWork(shown));
  return { isBusy, start: (tenant: string | undefined) => start.mutate(tenant) };
}

type ListProps<Row> = {
  list: UseQueryResult<Page<Row>>;
  search: RetentionSearch;
  update: Update;
  onOpen: (place: string) => void;
};

/** What names the list shown: another one begins at its top. */
function placeOf(search: RetentionSearch): string {
  return JSON.stringify({ ...search, ...drawerFields(undefined) });
}

function Tenants({ list, search, update, onOpen }: ListProps<TenantState>): ReactNode {
  const rows = list.data?.data ?? [];
  return (
    <>
      <List
        queries={[list]}
        name="tenants"
        isEmpty={rows.length === 0}
        empty={
          <Empty
            title={hasFilter(search) ? 'No tenants with these filters' : 'No records yet'}
            onClear={hasFilter(search) ? () => update(noFilter) : undefined}
          />
        }
      >
        <TenantsTable
          rows={rows}
          open={search.open}
          place={placeOf(search)}
          isWaiting={list.isPlaceholderData}
          onOpen={(id) => onOpen(placeText({ kind: 'tenant', id }))}
        />
      </List>
      <Pager
        list={list}
        cursor={search.cursor}
        onCursor={(cursor) => update({ cursor })}
        one="tenant"
      />
    </>
  );
}

function Journal({ list, search, update, onOpen }: ListProps<RetentionMove>): ReactNode {
  const rows = list.data?.data ?? [];
  return (
    <>
      <List
        queries={[list]}
        name="moves"
        isEmpty={rows.length === 0}
        empty={
          hasFilter(search) ? (
            <Empty title="No moves with these filters" onClear={() => update(noFilter)} />
          ) : (
            <Empty title="Nothing was moved yet">
              <p>Each run writes its moves here, with the proof that nothing was lost.</p>
            </Empty>
          )
        }
      >
        <JournalTable
          rows={rows}
          open={search.move}
          place={placeOf(search)}
          isWaiting={list.isPlaceholderData}
          onOpen={(id) => onOpen(placeText({ kind: 'move', id }))}
        />
      </List>
      <Pager
        list={list}
        cursor={search.cursor}
        onCursor={(cursor) => update({ cursor })}
        one="move"
      />
    </>
  );
}
