import { type ReactNode, useRef } from 'react';
import { exportFilters } from '../api/views.ts';
import { CancelQuestion } from '../ui/cancel-job.tsx';
import { noneOf } from '../ui/hash-state.ts';
import { ListPage, NewButton, ViewSwitch } from '../ui/list-page.tsx';
import { useSession } from '../ui/session.ts';
import { idOf } from '../ui/table/column.ts';
import { FilteredList } from '../ui/table/filtered-list.tsx';
import { usePageSearch } from '../ui/use-search.ts';
import { ExportDrawer } from './export-drawer.tsx';
import { exportColumns } from './exports-table.tsx';
import { NewExportPanel } from './new-export-panel.tsx';
import { NewSchedulePanel } from './new-schedule-panel.tsx';
import { ScheduleDrawer } from './schedule-drawer.tsx';
import { SchedulesView } from './schedules-view.tsx';
import { type ExportsPlace, exportsPanels, exportsViews, validateExportsSearch } from './search.ts';
import { followMillis, useExports } from './use-exports.ts';
import { isOpen } from './words.ts';

/** The page EXPORTS: the jobs, and the schedules of which some of them are runs. */
export function ExportsPage(): ReactNode {
  const page = usePageSearch('/exports', validateExportsSearch, exportsPanels);
  const [search, update, panel] = page;
  const isAdmin = useSession().hasScope('admin');
  const { view = 'exports' } = search;
  const [opened, schedule] = [panel.idOf('export'), panel.idOf('schedule')];
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
    <CancelQuestion>
      <ListPage>
        {view === 'schedules' ? (
          <SchedulesView page={page} views={views} isAdmin={isAdmin} />
        ) : (
          <JobsView page={page} views={views} />
        )}
        {opened !== undefined && <ExportDrawer id={opened} onClose={panel.close} />}
        {schedule !== undefined && (
          <ScheduleDrawer id={schedule} isAdmin={isAdmin} onClose={panel.close} />
        )}
        {panel.place?.kind === 'new-export' && <NewExportPanel onClose={panel.close} />}
        {panel.place?.kind === 'new-schedule' && isAdmin && (
          <NewSchedulePanel onClose={panel.close} onMade={(id) => panel.replace('schedule', id)} />
        )}
      </ListPage>
    </CancelQuestion>
  );
}

/** The jobs with their live progress, their files, and what proves them. */
function JobsView({ page, views }: { page: ExportsPlace; views: ReactNode }): ReactNode {
  const list = useExports(page[0]);
  const rows = list.data?.data ?? [];
  // What there is to export is told only to those who read records.
  const mayChoose = useSession().hasScope('enrichment:read');
  return (
    <FilteredList
      page={page}
      opens="export"
      label="Export jobs"
      one="export"
      views={views}
      actions={mayChoose && <NewButton what="export" onClick={() => page[2].open('new-export')} />}
      millis={rows.some(isOpen) ? followMillis : undefined}
      columns={exportColumns}
      keyOf={idOf}
      query={list}
      filters={exportFilters}
      searched="tenant"
      words={mayChoose ? { advice: howToExport } : {}}
    />
  );
}

const howToExport = (
  <p>
    NEW EXPORT, or EXPORT… at a node of <a href="#/records">RECORDS</a>: as a job it appears here.
  </p>
);
