import { Button, NativeSelect } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { hasFilter } from '../../ui/hash-state.ts';
import listClasses from '../../ui/list-page.module.css';
import type { ChangeSearch } from '../../ui/use-search.ts';
import { countOf } from '../../ui/words.ts';
import { useZone } from '../../ui/zone-switch.tsx';
import {
  changeFilters,
  changeSearch,
  firstPage,
  noFilters,
  pageSizeOf,
  pageSizes,
  type RecordsSearch,
  sliceOf,
  withoutPanel,
} from '../search.ts';
import { CountMatches, useCount } from './count-matches.tsx';
import { Jump } from './jump.tsx';
import { RecordsFilters } from './records-filters.tsx';
import type { Records, RecordsPage } from './records-page.ts';
import { rangeText, readSoFar, searchedText, useTotal } from './records-range.ts';
import { RecordsTable } from './records-table.tsx';
import tableClasses from './table.module.css';
import { useLive } from './use-live.ts';

type RecordsPartProps = {
  search: RecordsSearch;
  update: ChangeSearch<RecordsSearch>;
  records: Records;
  /** The counters of the node: null when it has no records, undefined while they load. */
  facts: DatasetRow | null | undefined;
  /** Key of the record that the panel shows. */
  open: string | undefined;
  onOpen: (key: string) => void;
};

/** The records of the node: filters, one page of the table or what comes live, and buttons to the other pages. */
export function RecordsPart(props: RecordsPartProps): ReactNode {
  const { search, update, records } = props;
  const { kind, source, event, where, dataset, cursor, start, order, live: isLive } = search;
  const total = useTotal(search, props.facts);
  const [note, setNote] = useState('');
  const live = useLive(search, isReading, (words) => {
    setNote(words);
    update((before) => changeSearch(before, { live: undefined }), { replace: true });
    void records.refetch();
  });
  const turn = (change: Parameters<typeof changeSearch>[1]) => {
    setNote('');
    update((before) => withoutPanel(changeSearch(before, change), ['record']));
  };
  const fault = records.data?.fault;
  const isSearching = records.searching !== null;
  const isCountable =
    hasLabel(search) && total === null && event === undefined && fault === undefined;
  const slice = sliceOf(search);
  const counting = useCount(slice && { ...slice, kind, source, where, dataset }, {
    id: search.count,
    onId: (count) => update((before) => changeSearch(before, { count }), { replace: true }),
  });
  useFirstRecords(props.facts, live.count + (records.data?.lines.length ?? 0));
  return (
    <>
      <div className={`${listClasses.bar} ${tableClasses.bar}`}>
        <RecordsFilters
          search={search}
          facts={props.facts}
          fault={fault}
          onChange={(change) => update((before) => changeFilters(before, change))}
        />
        {canGoByTime(search) && (
          <Jump
            onJump={(to) => {
              const order = search.order ?? (search.store === undefined ? 'oldest' : undefined);
              turn({ ...firstPage, live: undefined, order, start: to });
            }}
          />
        )}
      </div>
      <RecordsTable
        page={records}
        hasStore={search.store === undefined}
        isNewestFirst={order === 'desc' || order === 'newest'}
        isFiltered={hasFilter(search, noFilters)}
        live={isLive ? live.lines : null}
        open={props.open}
        place={JSON.stringify([
          slice,
          kind,
          source,
          event,
          where,
          dataset,
          cursor,
          start,
          order,
          isLive,
        ])}
        onOpen={props.onOpen}
        onClearFilters={() => update((before) => changeFilters(before, noFilters))}
      />
      <div className={`row wrap end gap-8 flex-none line-over muted ${listClasses.pager}`}>
        <Order search={search} onChange={turn} />
        {(isSearching || counting.job?.finished_at !== null) && (
          <RecordsRange
            search={search}
            records={records}
            total={total}
            note={note || (isLive ? `LIVE · ${countOf(live.count, 'record')} came` : '')}
          />
        )}
        {!isSearching && isCountable && <CountMatches counting={counting} />}
        {live.held > 0 && (
          <Button onClick={() => rowsInSight()?.scrollTo(0, 0)}>
            {formatCount(live.held)} NEW ↑
          </Button>
        )}
        <span className={`row gap-8 ${tableClasses.buttons}`}>
          {dataset === undefined && (
            <LiveSwitch
              isLive={isLive === true}
              onSwitch={() => {
                turn({ ...firstPage, ...(isLive ? { live: undefined } : liveOf(search)) });
                // What was live stays on the screen: the page may be older.
                if (isLive) void records.refetch();
              }}
            />
          )}
          {/* A search that has nothing to show yet leaves no page to turn to. */}
          {(!isSearching || (records.data !== undefined && !records.isPlaceholderData)) && (
            <PageButtons search={search} records={records} onTurn={turn} />
          )}
        </span>
      </div>
    </>
  );
}

function LiveSwitch(props: { isLive: boolean; onSwitch: () => void }): ReactNode {
  return (
    <Button
      className={tableClasses.live}
      aria-pressed={props.isLive}
      title="Show records as they are stored"
      leftSection={<span className={tableClasses.dot} />}
      onClick={props.onSwitch}
    >
      LIVE
    </Button>
  );
}

/** How many of the node's records fit the filters, before the number of all: exactly, or as far as the list was read. */
export function NarrowCount(props: {
  search: RecordsSearch;
  facts: DatasetRow | undefined;
  records: Records;
}): ReactNode {
  const { search, records } = props;
  const total = useTotal(search, props.facts);
  return (
    <>
      {total === null ? readSoFar(search, records) : formatCount(total)}
      <span className="muted small">&nbsp;of&nbsp;</span>
    </>
  );
}

/** Reads the counters of a node that had no records as soon as some are shown. */
function useFirstRecords(facts: DatasetRow | null | undefined, shown: number): void {
  const client = useQueryClient();
  useEffect(() => {
    if (facts === null && shown > 0) {
      void client.invalidateQueries({ queryKey: ['records', 'facts'] });
    }
  }, [client, facts, shown]);
}

/** LIVE, with the newest records first. */
function liveOf({ store }: RecordsSearch): Parameters<typeof changeSearch>[1] {
  return { live: true, order: store === undefined ? 'newest' : 'desc' };
}

/** Whether the records of the node can be read from a time on. */
function canGoByTime({ tenant, store, event }: RecordsSearch): boolean {
  return tenant !== undefined && (store !== undefined || event === undefined);
}

function rowsInSight(): Element | null {
  return document.querySelector('section[aria-label="Records"]');
}

/** Whether somebody reads: then what comes live waits, so that no row moves. */
function isReading(): boolean {
  const rows = rowsInSight();
  if (rows === null) return false;
  const isAway = rows.scrollTop > 0 || rows.getBoundingClientRect().top < 0;
  return isAway || rows.querySelector('tbody:hover') !== null;
}

type Turn = (change: Parameters<typeof changeSearch>[1]) => void;

/** The orders of the records of a store, and of a tenant. The first needs no word in the address. */
const ordersOf = {
  store: [
    { value: 'asc', label: 'oldest first' },
    { value: 'desc', label: 'newest first' },
  ],
  tenant: [
    { value: 'asc', label: 'store by store' },
    { value: 'newest', label: 'newest first' },
    { value: 'oldest', label: 'oldest first' },
  ],
};

/** How many records a page has, and in which order they are. */
function Order({ search, onChange }: { search: RecordsSearch; onChange: Turn }): ReactNode {
  return (
    <>
      <NativeSelect
        className={tableClasses.pageSize}
        aria-label="Records a page"
        value={String(pageSizeOf(search))}
        data={pageSizes.map((size) => ({ value: String(size), label: `${size} a page` }))}
        onChange={(event) => onChange({ limit: Number(event.currentTarget.value) })}
      />
      {canGoByTime(search) && (
        <NativeSelect
          className={tableClasses.pageSize}
          aria-label="Order"
          value={search.order ?? 'asc'}
          data={ordersOf[search.store === undefined ? 'tenant' : 'store']}
          onChange={(event) => {
            // The address is read again, and drops the order that it need not name.
            const order = event.currentTarget.value as RecordsSearch['order'];
            onChange({ ...firstPage, live: undefined, order });
          }}
        />
      )}
    </>
  );
}

/** What of the whole the page shows, or a note in its place. */
function RecordsRange(props: {
  search: RecordsSearch;
  records: Records;
  /** Number of records with these filters; null where it is not known. */
  total: number | null;
  note: string;
}): ReactNode {
  const { search, total, note } = props;
  const { data: page, isPlaceholderData: isWaiting, searching } = props.records;
  const [zone] = useZone();
  const rows = page?.lines.length ?? 0;
  const isFiltered = hasLabel(search);
  const isFirst = isFirstPage(search, page, isWaiting);
  const range = useRef('');
  // While the next page loads, or fails to, the rows on the screen are still the previous ones.
  if (!isWaiting) {
    range.current = page
      ? rangeText({
          rows,
          hasNext: page.next_cursor !== null,
          at: isFirst ? 0 : (search.at ?? 0),
          // A filtered page may be short anywhere, so positions cannot be counted backwards.
          isAtKnown: isFirst || (search.at !== undefined && !isFiltered),
          total,
          searched: page.searched_to === null ? undefined : searchedText(page.searched_to, zone),
        })
      : '';
  }
  const far =
    searching === null
      ? range.current
      : `${formatCount(searching.found)} found, searched to ${searchedText(searching.to, zone)}`;
  const isNote = searching === null && note !== '';
  return (
    <>
      <span
        className={`push right ${isNote ? '' : tableClasses.range}`}
        title={isNote ? undefined : far}
        role="status"
      >
        {isNote ? note : far}
      </span>
      {searching !== null && <Button onClick={searching.stop}>STOP</Button>}
    </>
  );
}

function hasLabel({ kind, source, event, where }: RecordsSearch): boolean {
  return [kind, source, event, where].some((label) => label !== undefined);
}

function isFirstPage(
  { cursor, start }: RecordsSearch,
  page: RecordsPage | undefined,
  isWaiting: boolean,
): boolean {
  if (cursor === undefined && start === undefined) return true;
  return page?.prev_cursor === null && !isWaiting;
}

/** Buttons to the pages before and after this one, and to the other end. */
function PageButtons(props: { search: RecordsSearch; records: Records; onTurn: Turn }): ReactNode {
  const { search, records, onTurn } = props;
  const { data: page, isPlaceholderData: isWaiting } = records;
  const isFirst = isFirstPage(search, page, isWaiting);
  const at = isFirst ? 0 : (search.at ?? 0);
  const isAtKnown = (isFirst || search.at !== undefined) && !hasLabel(search);
  const next = page?.next_cursor ?? null;
  const previous = page?.prev_cursor ?? null;
  const turn = (cursor: string, records: number) =>
    onTurn({
      ...firstPage,
      live: undefined,
      cursor,
      ...(isAtKnown && records > 0 && { at: records }),
    });
  return (
    <>
      <Button
        disabled={previous === null || isWaiting}
        onClick={() => previous !== null && turn(previous, at - pageSizeOf(search))}
      >
        ‹ PREV
      </Button>
      <Button
        disabled={next === null || isWaiting}
        onClick={() => next !== null && turn(next, at + (page?.lines.length ?? 0))}
      >
        NEXT ›
      </Button>
      <Button
        disabled={isWaiting || (isFirst && next === null)}
        onClick={() =>
          onTurn({ ...firstPage, live: undefined, ...(next !== null && { start: 'last' }) })
        }
      >
        {next === null && !isFirst ? 'FIRST' : 'LAST'}
      </Button>
    </>
  );
}
