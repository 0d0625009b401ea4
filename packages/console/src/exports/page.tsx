import { type ReactNode, useMemo, useRef } from 'react';
import { exportFilters } from '../api/views.ts';
import { ListFilters } from '../ui/filters.tsx';
import { noneOf } from '../ui/hash-state.ts';
import classes from '../ui/list-page.module.css';
import { ListBar, ListPage, ViewSwitch } from '../ui/list-page.tsx';
import type { Change } from '../ui/list-search.ts';
import { pollMillis } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { idOf } from '../ui/table/column.ts';
import { PagedList } from '../ui/table/list.tsx';
import { usePageSearch } from '../ui/use-search.ts';
import { ExportDrawer } from './export-drawer.tsx';
import { exportColumns } from './exports-table.tsx';
import { NewSchedulePanel } from './new-schedule-panel.tsx';
import { ScheduleDrawer } from './schedule-drawer.tsx';
import { SchedulesView } from './schedules-view.tsx';
import {
  type ExportsSearch,
  exportsPanels,
  exportsViews,
  validateExportsSearch,
} from './search.ts';
import { type Cancelling, followMillis, useCancel, useExports } from './use-exports.ts';
import { isOpen } from './words.ts';

/** The page EXPORTS: the jobs, and the schedules of which some of them are runs. */
export function ExportsPage(): ReactNode {
  const [search, update, panel] = usePageSearch('/exports', validateExportsSearch, exportsPanels);
  const isAdmin = useSession().hasScope('admin');
  const { view = 'exports' } = search;
  const [opened, schedule] = [panel.idOf('export'), panel.idOf('schedule')];
  const cancelling = useCancel();
  const chosen = useRef<typeof view | null>(null);
  const views = (
    <ViewSwitch
      label="What of the exports is shown"
      views={exportsViews}
      view={view}
      isCaps
      chosen={chosen}
      onView={(next) =>
        update({
          ...noneOf(exportFilters),
          view: next === 'exports' ? undefined : next,
          panel: undefined,
        })
      }
    />
  );
  return (
    <ListPage>
      {view === 'schedules' ? (
        <SchedulesView
          views={views}
          search={search}
          update={update}
          isAdmin={isAdmin}
          open={schedule}
          onOpen={(id) => panel.open('schedule', id)}
          onNew={() => panel.open('new-schedule')}
        />
      ) : (
        <JobsView
          views={views}
          search={search}
          update={update}
          cancelling={cancelling}
          open={opened}
          onOpen={(id) => panel.open('export', id)}
        />
      )}
      {opened !== undefined && (
        <ExportDrawer id={opened} cancelling={cancelling} onClose={panel.close} />
      )}
      {schedule !== undefined && (
        <ScheduleDrawer id={schedule} isAdmin={isAdmin} onClose={panel.close} />
      )}
      {panel.place?.kind === 'new-schedule' && isAdmin && (
        <NewSchedulePanel onClose={panel.close} onMade={(id) => panel.open('schedule', id)} />
      )}
    </ListPage>
  );
}

/** The jobs with their live progress, their files, and what proves them. */
function JobsView(props: {
  views: ReactNode;
  search: ExportsSearch;
  update: (change: Change) => void;
  cancelling: Cancelling;
  open: string | undefined;
  onOpen: (id: string) => void;
}): ReactNode {
  const { search, update, cancelling } = props;
  const list = useExports(search);
  const rows = list.data?.data ?? [];
  const columns = useMemo(() => exportColumns(cancelling), [cancelling]);
  return (
    <>
      <ListBar
        left={
          <>
            {props.views}
            <ListFilters
              label="What is shown"
              className={classes.short}
              filters={exportFilters}
              search={search}
              update={update}
              searched="tenant"
            />
          </>
        }
        queries={[list]}
        millis={rows.some(isOpen) ? followMillis : pollMillis}
      />
      <PagedList
        list="exports"
        label="Export jobs"
        one="export"
        columns={columns}
        keyOf={idOf}
        query={list}
        search={search}
        update={update}
        filters={exportFilters}
        words={{ none: 'No exports yet', advice: howToExport }}
        open={props.open}
        onOpen={props.onOpen}
      />
    </>
  );
}

const howToExport = (
  <p>
    Choose a node in <a href="#/records">RECORDS</a> and export it as a job: it appears here.
  </p>
);
