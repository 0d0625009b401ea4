import { type ReactNode, useMemo } from 'react';
import { exportStates } from '../api/values.ts';
import { ChoiceFilter, Filters, TextFilter } from '../ui/filters.tsx';
import { filtersOf, hasFilter, noneOf } from '../ui/hash-state.ts';
import classes from '../ui/list-page.module.css';
import { ListPage } from '../ui/list-page.tsx';
import { PollNote, pollMillis } from '../ui/poll.tsx';
import { idOf } from '../ui/table/column.ts';
import { PagedList } from '../ui/table/list.tsx';
import { type UpdateSearch, usePageSearch } from '../ui/use-search.ts';
import { ExportDrawer } from './export-drawer.tsx';
import ownClasses from './exports.module.css';
import { exportColumns } from './exports-table.tsx';
import { type ExportsSearch, exportsPanels, validateExportsSearch } from './search.ts';
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
        <ExportFilters search={search} update={update} />
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
        isFiltered={hasFilter(search, noFilter)}
        noFilter={noFilter}
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

const noFilter = noneOf('tenant', 'state');

const howToExport = (
  <p>
    Choose a node in <a href="#/records">RECORDS</a> and export it as a job: it appears here.
  </p>
);

const stateChoices = exportStates.map((state) => ({ value: state, label: state }));

function ExportFilters(props: {
  search: ExportsSearch;
  update: UpdateSearch<ExportsSearch>;
}): ReactNode {
  const { search, update } = props;
  return (
    <Filters
      label="What is shown"
      className={ownClasses.filters}
      values={filtersOf(search, noFilter)}
      onClear={() => update(noFilter)}
    >
      <TextFilter
        label="Tenant, exactly"
        placeholder="Tenant ="
        value={search.tenant}
        onChange={(tenant) => update({ tenant, cursor: undefined }, { replace: true })}
        isSearch
      />
      <ChoiceFilter
        label="State"
        any="Any state"
        choices={stateChoices}
        value={search.state}
        onChange={(state) => update({ state, cursor: undefined })}
      />
    </Filters>
  );
}
