import type { ReactNode } from 'react';
import type { DatasetRow } from '../api/types.ts';
import { changeFilters, changeSearch, type RecordsSearch, sliceOf } from './search.ts';
import { noFilters, RecordsFilters } from './table/records-filters.tsx';
import type { useRecords } from './table/records-page.ts';
import { RecordsPager } from './table/records-pager.tsx';
import { RecordsTable } from './table/records-table.tsx';
import tableClasses from './table/table.module.css';
import type { UpdateSearch } from './use-records-search.ts';

export type RecordsPartProps = {
  search: RecordsSearch;
  update: UpdateSearch;
  records: ReturnType<typeof useRecords>;
  facts: DatasetRow | null | undefined;
  onOpen: (key: string) => void;
};

/** Filters, one page of records, and the way to the others. */
export function RecordsPart(props: RecordsPartProps): ReactNode {
  const { search, update, records } = props;
  const { kind, source, dataset, from, to, cursor } = search;
  const isFiltered = [kind, source, dataset, from, to].some((filter) => filter !== undefined);
  return (
    <>
      <div className={tableClasses.bar}>
        <RecordsFilters
          search={search}
          onChange={(change) => update((before) => changeFilters(before, change))}
        />
      </div>
      <RecordsTable
        page={records}
        hasStore={search.store === undefined}
        isFiltered={isFiltered}
        open={search.record}
        place={JSON.stringify([sliceOf(search), kind, source, dataset, cursor])}
        onOpen={props.onOpen}
        onClearFilters={() => update((before) => changeFilters(before, noFilters))}
      />
      <RecordsPager
        search={search}
        page={records.data}
        isWaiting={records.isPlaceholderData}
        total={totalOf(search, props.facts)}
        onPage={(next, at) =>
          update((before) => changeSearch(before, { cursor: next, at, record: undefined }))
        }
        onPageSize={(limit) => update((before) => changeSearch(before, { limit }))}
      />
    </>
  );
}

type Facts = Pick<DatasetRow, 'count' | 'by_dataset' | 'days'>;

/** How many records the table walks through; null when a filter leaves that uncounted. */
function totalOf(search: RecordsSearch, facts: Facts | null | undefined): number | null {
  const { kind, source, dataset, from, to, month } = search;
  if (!facts || kind !== undefined || source !== undefined) return null;
  if (from === undefined && to === undefined) {
    return dataset === undefined ? facts.count : facts.by_dataset[dataset];
  }
  if (month === undefined || dataset !== undefined || facts.days === undefined) return null;
  const first = from === undefined ? 1 : Number(from.slice(8));
  const last = to === undefined ? facts.days.length : Number(to.slice(8));
  return facts.days.slice(first - 1, last).reduce((sum, count) => sum + count, 0);
}
