import {
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { useIsStale } from '../freshness.tsx';
import { useMeasured } from '../use-measured.ts';
import type { Column } from './column.ts';
import classes from './data-table.module.css';
import { keyAt, rowOf, useFocusBack, useFocusKept, useRowKeys, useSteps } from './row-keys.ts';
import { Line, roles } from './rows.tsx';
import { TableHead } from './table-head.tsx';
import { useColumns } from './use-columns.ts';
import type { Selection } from './use-selection.ts';
import { WholeTips } from './whole-tips.tsx';

export type DataTableProps<Row> = {
  /** The name under which this browser remembers the columns of the list, and that of its CSV file. */
  list: string;
  /** The name of the list for assistive technology. */
  label: string;
  /** Like `keyOf`, it must be the same at every render, so that rows that did not change are not drawn again. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Puts a line with a title above the rows of each group. The rows must be in the order of their groups. */
  groups?: { readonly of: (row: Row) => string; readonly title: (first: Row) => ReactNode };
  keyOf: (row: Row) => string;
  /** Key of the row that the drawer shows. */
  open?: string | undefined;
  /** Identifies the list: when it changes, the table scrolls to its top. */
  place: string;
  isWaiting: boolean;
  /** Undefined where there is nothing to open. */
  onOpen?: ((key: string) => void) | undefined;
  /** Called with the key of a row, for the key r and for a click on what has `data-retry`. */
  onRetry?: ((key: string) => void) | undefined;
  /** PURGE of a row: a click on what is marked `data-purge`. */
  onPurge?: ((key: string) => void) | undefined;
  /** The selected rows; undefined where rows cannot be selected. */
  selection?: Selection | undefined;
};

/**
 * A list of rows. Its columns can be resized, hidden and reordered; j and k (or ↓ and ↑) go from row to row, Enter opens
 * one, r retries it, x or Space selects it. Rows that are out of sight are laid out once they come into it.
 */
export function DataTable<Row>(props: DataTableProps<Row>): ReactNode {
  const { columns, rows, keyOf, open, selection } = props;
  const scroller = useRef<HTMLElement>(null);
  const table = useRef<HTMLTableElement>(null);
  const widthPx = useMeasured(scroller, ({ offsetWidth }) => offsetWidth - scrollbarPx);
  const model = useColumns({
    list: props.list,
    columns,
    hasSelection: selection !== undefined,
    rows,
    roomPx: widthPx ?? 0,
  });
  const { isCards } = model;
  const keys = rows.map(keyOf);
  const [said, setSaid] = useState('');
  const [active, setActive] = useState<string | null>(open ?? null);
  const shownKey = useFocusKept({ keys, active, setActive, table });
  useFocusBack(open, table);
  useTop(scroller, props.place);
  // Rows that become cards, and cards that become rows, are elsewhere: the one that people are at stays in sight.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only then
  useLayoutEffect(() => {
    if (open !== undefined) rowOf(table, open)?.scrollIntoView({ block: 'nearest' });
  }, [isCards]);
  const move = useSteps({ keys, shown: shownKey, open, setActive, onOpen: props.onOpen, table });
  const { onRetry, onPurge } = useIsStale() ? {} : (props as Partial<DataTableProps<Row>>);
  const onKeyDown = useRowKeys({ ...props, onRetry, move });
  const onClick = (event: MouseEvent) => {
    const target = event.target as Element;
    const key = keyAt(target);
    if (key === undefined) return;
    setActive(key);
    if (target.closest('[data-retry]') !== null) {
      // The row leaves at once, and the second click of a double click is on the next one.
      if (event.detail < 2) onRetry?.(key);
    } else if (target.closest('[data-purge]') !== null) onPurge?.(key);
    else if (target.closest('[data-select]') !== null) selection?.toggle(key, event.shiftKey);
    else if (target.closest('button, a, input') === null && !hasSelectedText()) props.onOpen?.(key);
  };
  return (
    <WholeTips>
      <section
        ref={scroller}
        className={classes.scroller}
        data-cards={isCards}
        data-waiting={props.isWaiting}
        aria-label={props.label}
        tabIndex={-1}
      >
        {widthPx !== null && (
          <table
            ref={table}
            {...roles.table}
            className={classes.table}
            data-openable={props.onOpen !== undefined}
            style={isCards ? undefined : model.tracks}
            onClick={onClick}
            onKeyDown={onKeyDown}
            onFocus={(event) => setActive(keyAt(event.target) ?? null)}
          >
            <TableHead
              label={props.label}
              list={props.list}
              model={model}
              rows={rows}
              selection={selection}
              onSay={setSaid}
            />
            {groupsOf(props).map(({ id, title, rows: members }) => (
              <tbody key={id} {...roles.group}>
                {title !== undefined && <GroupLine title={title} />}
                {members.map((row) => {
                  const key = keyOf(row);
                  return (
                    <Line
                      key={key}
                      id={key}
                      row={row}
                      columns={model.shown}
                      action={model.action}
                      isCard={isCards}
                      isActive={key === shownKey}
                      isOpen={key === open}
                      isSelected={selection?.keys.has(key)}
                    />
                  );
                })}
              </tbody>
            ))}
          </table>
        )}
        <span className="visually-hidden" role="status">
          {said}
        </span>
      </section>
    </WholeTips>
  );
}

function GroupLine({ title }: { title: ReactNode }): ReactNode {
  return (
    <tr {...roles.row} className={classes.groupLine}>
      <th {...roles.rowHeader} scope="rowgroup">
        {title}
      </th>
    </tr>
  );
}

type Group<Row> = { id: string; title?: ReactNode; rows: readonly Row[] };

/** The rows in runs of the same group; a list without groups is one. */
function groupsOf<Row>({ rows, groups }: Pick<DataTableProps<Row>, 'rows' | 'groups'>) {
  if (groups === undefined) return [{ id: 'all', title: undefined, rows }];
  const runs: (Group<Row> & { rows: Row[] })[] = [];
  for (const row of rows) {
    const id = groups.of(row);
    const last = runs.at(-1);
    if (last?.id === id) last.rows.push(row);
    else runs.push({ id, title: groups.title(row), rows: [row] });
  }
  return runs;
}

/** A list keeps this width for its scrollbar, whether it has one or not: else its columns would come and go with it. */
const scrollbarPx = 16;

/** Scrolls to the top of the list when its place changes. On a phone it is the page that scrolls. */
function useTop(scroller: RefObject<HTMLElement | null>, place: string): void {
  const last = useRef(place);
  useLayoutEffect(() => {
    if (last.current === place) return;
    last.current = place;
    scroller.current?.scrollTo(0, 0);
    const top = scroller.current?.getBoundingClientRect().top ?? 0;
    if (top < 0) scroller.current?.scrollIntoView();
  }, [scroller, place]);
}

/** Whether text is selected: the click that ends a selection must not open the drawer. */
function hasSelectedText(): boolean {
  return (window.getSelection()?.toString() ?? '') !== '';
}
