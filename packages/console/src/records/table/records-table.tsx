import type { UseQueryResult } from '@tanstack/react-query';
import { memo, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { formatBytes, formatInstant, visibleText, type Zone } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { useKeys } from '../../ui/keys.ts';
import { SkeletonRows } from '../../ui/list.tsx';
import { hasSelectedText, useFocusBack } from '../../ui/table/rows-table.tsx';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import type { RecordLine, RecordsPage } from './records-page.ts';
import classes from './table.module.css';

export type RecordsTableProps = {
  page: UseQueryResult<RecordsPage>;
  hasStore: boolean;
  isFiltered: boolean;
  /** Key of the record that the drawer shows. */
  open: string | undefined;
  /** Identifies the page: when it changes, the table scrolls to its top. */
  place: string;
  onOpen: (key: string) => void;
  onClearFilters: () => void;
};

/** The table with one page of records. j and k (or ↓ and ↑) go from row to row, Enter opens one. */
export function RecordsTable(props: RecordsTableProps): ReactNode {
  const { page, open, place } = props;
  const [zone] = useZone();
  const failure = useFailure(page);
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const [active, setActive] = useState<string | null>(open ?? null);
  const lines = page.data?.lines ?? [];
  const activeAt = Math.max(
    0,
    lines.findIndex(({ key }) => key === active),
  );
  const move = (step: number) => {
    const rows = body.current?.rows;
    const isInside = body.current?.contains(document.activeElement) ?? false;
    const next = open === undefined && !isInside ? activeAt : activeAt + step;
    const row = rows?.[Math.min(lines.length - 1, Math.max(0, next))];
    const key = row?.dataset.key;
    if (row === undefined || key === undefined) return;
    setActive(key);
    // While the focus is in the drawer, the row is only scrolled into view: j and k work from there, too.
    if (open === undefined || isInside) row.focus();
    else row.scrollIntoView({ block: 'nearest' });
    if (open !== undefined && key !== open) props.onOpen(key);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another place begins at its top
  useLayoutEffect(() => {
    scroller.current?.scrollTo(0, 0);
  }, [place, page.isPlaceholderData]);
  useFocusBack(open, body);

  if (page.data === undefined) {
    return (
      <div className={classes.scroller}>
        {failure === null ? (
          <SkeletonRows rows={12} label="Loading records" />
        ) : (
          <FailurePanel error={failure} onRetry={() => void page.refetch()} />
        )}
      </div>
    );
  }
  if (lines.length === 0) return <NoRecords {...props} />;
  return (
    <section
      ref={scroller}
      className={classes.scroller}
      data-waiting={page.isPlaceholderData}
      aria-label="Records"
      tabIndex={-1}
    >
      <table className={classes.table} data-store={props.hasStore}>
        <TableHead hasStore={props.hasStore} zone={zone} />
        <tbody
          ref={body}
          onClick={(event) => {
            const key = keyOf(event.target);
            if (key === undefined || hasSelectedText()) return;
            setActive(key);
            props.onOpen(key);
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
              event.preventDefault();
              move(event.key === 'ArrowDown' ? 1 : -1);
            }
            if (event.key === 'Enter') {
              const key = keyOf(event.target);
              if (key !== undefined) props.onOpen(key);
            }
          }}
          onFocus={(event) => setActive(keyOf(event.target) ?? null)}
        >
          {lines.map((line, index) => (
            <RecordRow
              key={line.key}
              line={line}
              zone={zone}
              hasStore={props.hasStore}
              isActive={index === activeAt}
              isOpen={line.key === open}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The head of the table. There is a column for the store only when the node has several. */
function TableHead({ hasStore, zone }: { hasStore: boolean; zone: Zone }): ReactNode {
  return (
    <thead>
      <tr>
        <th scope="col" className={classes.at}>
          OCCURRED AT ({zoneName(zone)})
        </th>
        {hasStore && (
          <th scope="col" className={classes.store}>
            STORE
          </th>
        )}
        <th scope="col">EVENT</th>
        <th scope="col" className={classes.kind}>
          KIND
        </th>
        <th scope="col" className={classes.source}>
          SOURCE
        </th>
        <th scope="col" className={classes.model}>
          MODEL
        </th>
        <th scope="col" className={classes.confidence}>
          CONFIDENCE
        </th>
        <th scope="col" className={classes.bytes}>
          BYTES
        </th>
      </tr>
    </thead>
  );
}

type RecordRowProps = {
  line: RecordLine;
  zone: Zone;
  hasStore: boolean;
  isActive: boolean;
  isOpen: boolean;
};

const RecordRow = memo(function RecordRow(props: RecordRowProps): ReactNode {
  const { line, zone } = props;
  return (
    <tr
      data-key={line.key}
      tabIndex={props.isActive ? 0 : -1}
      aria-current={props.isOpen ? 'true' : undefined}
    >
      <td>
        <time dateTime={line.occurred_at}>{formatInstant(line.occurred_at, zone)}</time>
      </td>
      {props.hasStore && <Text text={line.store} />}
      <Text text={line.event_id} className={classes.event} />
      <Text text={line.kind} />
      <Text text={line.source} />
      <Text text={line.model} />
      <td className={classes.number}>{line.confidence ?? '–'}</td>
      <td className={classes.number}>{formatBytes(line.bytes)}</td>
    </tr>
  );
});

function Text(props: { text: string | null; className?: string | undefined }): ReactNode {
  if (props.text === null) return <td className={classes.none}>–</td>;
  const shown = visibleText(props.text);
  return (
    <td className={props.className} title={shown}>
      {shown}
    </td>
  );
}

/** Says why there are no rows. A filtered page may be empty although more follow. */
function NoRecords({ page, isFiltered, onClearFilters }: RecordsTableProps): ReactNode {
  if (page.data?.next_cursor) {
    return (
      <div className={classes.scroller}>
        <p className={classes.empty}>No match in this stretch of records. NEXT reads on.</p>
      </div>
    );
  }
  return (
    <div className={classes.scroller}>
      <p className={classes.empty}>
        {isFiltered ? 'No records with these filters. ' : 'No records here.'}
        {isFiltered && (
          <button type="button" className={classes.textButton} onClick={onClearFilters}>
            Clear filters
          </button>
        )}
      </p>
    </div>
  );
}

function keyOf(target: EventTarget): string | undefined {
  return (target as Element).closest<HTMLElement>('[data-key]')?.dataset.key;
}
