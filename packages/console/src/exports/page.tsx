import { type ReactNode, useMemo } from 'react';
import { exportFilters } from '../api/views.ts';
import { ListFilters } from '../ui/filters.tsx';
import classes from '../ui/list-page.module.css';
import { ListPage } from '../ui/list-page.tsx';
import { PollNote, pollMillis } from '../ui/poll.tsx';
import { idOf } from '../ui/table/column.ts';
import { PagedList } from '../ui/table/list.tsx';
import { usePageSearch } from '../ui/use-search.ts';
import { ExportDrawer } from './export-drawer.tsx';
import { exportColumns } from './exports-table.tsx';
import { exportsPanels, validateExportsSearch } from './search.ts';
import { followMillis, useCancel, useExport, useExports } from './use-exports.ts';
import { isOpen } from './words.ts';

/** The page EXPORTS: the jobs with their live progress, their files, and what proves them. */
export function ExportsPage(): ReactNode {
  const [search, update, panel] = usePageSearch('/exports', validateExportsSearch, exportsPanels);
  const open = panel.idOf('export');
  const list = useExports(search);
  const rows = list.data?.data ?? [];
  const job = useExport(open);
  const cancelling = useCancel();
  const columns = useMemo(() => exportColumns(cancelling), [cancelling]);
  return (
    <ListPage queries={open === undefined ? [list] : [list, job]}>
      <div className={classes.bar}>
        <ListFilters
          label="What is shown"
          className={classes.short}
          filters={exportFilters}
          search={search}
          update={update}
          searched="tenant"
        />
        <div className={classes.actions}>
          <PollNote queries={[list]} millis={rows.some(isOpen) ? followMillis : pollMillis} />
        </div>
      </div>
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
        open={open}
        onOpen={(id) => panel.open('export', id)}
      />
      {open !== undefined && (
        <ExportDrawer id={open} job={job} cancelling={cancelling} onClose={panel.close} />
      )}
    </ListPage>
  );
}

const howToExport = (
  <p>
    Choose a node in <a href="#/records">RECORDS</a> and export it as a job: it appears here.
  </p>
);
