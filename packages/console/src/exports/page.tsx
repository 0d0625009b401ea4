import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { exportStates } from '../api/values.ts';
import { ChoiceFilter, Filters, TextFilter } from '../ui/filters.tsx';
import { FreshnessBanner } from '../ui/freshness.tsx';
import { Empty, List, Pager } from '../ui/list.tsx';
import classes from '../ui/list-page.module.css';
import { NowProvider } from '../ui/marks.tsx';
import { PollNote, pollMillis } from '../ui/poll.tsx';
import { type UpdateSearch, usePageSearch, usePanel } from '../ui/use-search.ts';
import { ExportDrawer } from './export-drawer.tsx';
import ownClasses from './exports.module.css';
import { ExportsTable } from './exports-table.tsx';
import { type ExportsSearch, exportsPanels, hasFilter, validateExportsSearch } from './search.ts';
import { followMillis, useCancel, useExport, useExports } from './use-exports.ts';
import { isOpen } from './words.ts';

/** The page EXPORTS: the jobs with their live progress, their files, and what proves them. */
export function ExportsPage(): ReactNode {
  const [search, update] = usePageSearch('/exports', validateExportsSearch);
  const panel = usePanel(search.panel, exportsPanels, (next, options) =>
    update({ panel: next }, options),
  );
  const open = panel.idOf('export');
  const list = useExports(search);
  const rows = list.data?.data ?? [];
  const job = useExport(open);
  const cancelling = useCancel();
  return (
    <NowProvider>
      <div className={classes.page}>
        <FreshnessBanner queries={open === undefined ? [list] : [list, job]} isAgeElsewhere />
        <div className={classes.bar}>
          <ExportFilters search={search} update={update} />
          <div className={classes.actions}>
            <PollNote queries={[list]} millis={rows.some(isOpen) ? followMillis : pollMillis} />
          </div>
        </div>
        <List
          queries={[list]}
          name="exports"
          isEmpty={rows.length === 0}
          empty={<NoExports search={search} onClear={() => update(noFilter)} />}
        >
          <ExportsTable
            rows={rows}
            open={open}
            place={JSON.stringify({ ...search, panel: undefined })}
            isWaiting={list.isPlaceholderData}
            cancelling={cancelling}
            onOpen={(id) => panel.open('export', id)}
          />
        </List>
        <Pager
          list={list}
          cursor={search.cursor}
          onCursor={(cursor) => update({ cursor })}
          one="export"
        />
        {open !== undefined && (
          <ExportDrawer id={open} job={job} cancelling={cancelling} onClose={panel.close} />
        )}
      </div>
    </NowProvider>
  );
}

const noFilter = { tenant: undefined, state: undefined, cursor: undefined } as const;

function NoExports(props: { search: ExportsSearch; onClear: () => void }): ReactNode {
  if (hasFilter(props.search)) {
    return <Empty title="No exports with these filters" onClear={props.onClear} />;
  }
  return (
    <Empty title="No exports yet">
      <p>
        Choose a node in <a href="#/records">RECORDS</a> and export it as a job: it appears here.
      </p>
    </Empty>
  );
}

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
      values={[search.tenant, search.state]}
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
      {hasFilter(search) && (
        <Button variant="subtle" onClick={() => update(noFilter)}>
          Clear filters
        </Button>
      )}
    </Filters>
  );
}
