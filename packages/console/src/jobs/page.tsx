import type { ReactNode } from 'react';
import type { ListedJob, Page } from '../api/types.ts';
import { jobFilters } from '../api/views.ts';
import { jobNames } from '../ui/job-kinds.ts';
import { JobMark } from '../ui/job-line.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { listParams } from '../ui/list-search.ts';
import { useRead } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { type Column, idOf } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { FilteredList } from '../ui/table/filtered-list.tsx';
import { usePageSearch } from '../ui/use-search.ts';
import { JobDrawer } from './job-drawer.tsx';
import { jobsPanels, validateJobsSearch } from './search.ts';
import { followMillis, isMoving, percentText, shownState, stateWords } from './words.ts';

/** The page JOBS: what runs now, what ended and how, and who asked for it, of all kinds that the token may read. */
export function JobsPage(): ReactNode {
  const page = usePageSearch('/jobs', validateJobsSearch, jobsPanels);
  const [search, , panel] = page;
  const open = panel.idOf('job');
  const maySee = seeing.some(useSession().hasScope);
  const params = listParams(jobFilters, search);
  const list = useRead<Page<ListedJob>>(['jobs', 'list', params], '/jobs', {
    params,
    follow: [({ data }) => data.some(isMoving), followMillis],
  });
  return (
    <ListPage>
      <FilteredList
        page={page}
        opens="job"
        one="job"
        millis={list.data?.data.some(isMoving) ? followMillis : undefined}
        columns={columns}
        keyOf={idOf}
        query={list}
        filters={jobFilters}
        searched="tenant"
        filterWords={{ kind: jobNames }}
        words={{
          none: maySee ? 'No jobs yet' : 'This token may not see any jobs',
          advice: whatIsListed,
        }}
      />
      {open !== undefined && <JobDrawer id={open} onClose={panel.close} />}
    </ListPage>
  );
}

const column = columnsOf<ListedJob>();

const columns: readonly Column<ListedJob>[] = [
  column.own('state', 'STATE', 112, {
    card: 'note',
    cell: (job) => <JobMark state={shownState(job)} title={stateWords[shownState(job)]} />,
    value: shownState,
  }),
  column.text('kind', 'KIND', 120, { card: 'line', value: ({ kind }) => jobNames[kind] }),
  column.sentence('summary', 'WHAT', 400, { isMain: true, card: 'title' }),
  column.text('tenant', 'TENANT', 72, { rank: 4 }),
  column.own('done', 'DONE', 56, { isFigure: true, rank: 2, value: percentText }),
  column.text('requested_by', 'BY', 104, {
    rank: 3,
    card: 'note',
    value: ({ requested_by: by }) => by ?? 'the schedule',
  }),
  column.moment('requested_at', 'ASKED', 88, { rank: 1, card: 'note' }),
  column.moment('finished_at', 'ENDED', 88, { rank: 5 }),
];

/** The scopes that see jobs of some kind. */
const seeing = ['analytics:read', 'enrichment:read', 'deliveries:retry', 'dlq:operate'] as const;

const whatIsListed = (
  <p>
    A token with analytics:read sees exports, one with enrichment:read retention runs, verifications
    and dataset versions, one with deliveries:retry replays, and one with dlq:operate bulk retries
    and purges.
  </p>
);
