import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { useKeys } from '../keys.ts';
import pageClasses from '../list-page.module.css';
import classes from './table.module.css';
import type { Selection } from './use-selection.ts';
import { WholeTips } from './whole-tips.tsx';

/** One column of a table. */
export type Column<Row> = {
  readonly name: string;
  /** A class of the style sheet, which says how wide the column is and how it is aligned. */
  readonly className?: string | undefined;
  /**
   * Draws a cell. Links and buttons in it must take this tab index, so that Tab stops only at those of the active row.
   */
  readonly cell: (row: Row, tabIndex: number) => ReactNode;
};

/** Rows below a line with a title; without `title` there is no such line. */
export type RowGroup<Row> = {
  readonly id: string;
  readonly title?: ReactNode;
  readonly rows: readonly Row[];
};

type RowsTableProps<Row> = {
  /** The name of the list for assistive technology. */
  label: string;
  columns: readonly Column<Row>[];
  groups: readonly RowGroup<Row>[];
  /**
   * Identifies a row. Like `columns`, it must be the same at every render, so that rows that did not change are not
   * drawn again.
   */
  keyOf: (row: Row) => string;
  /** Key of the row that the drawer shows. */
  open?: string | undefined;
  /** Identifies the list: when it changes, the table scrolls to its top. */
  place: string;
  isWaiting: boolean;
  onOpen: (key: string) => void;
  /** Called with the key of a row, for the key r and for a click on what has `data-retry`. */
  onRetry?: ((key: string) => void) | undefined;
  /** The selected rows; undefined where rows cannot be selected. */
  selection?: Selection | undefined;
  className?: string | undefined;
};

/** A table of rows. j and k (or ↓ and ↑) go from row to row, Enter opens one, r retries it, x selects it. */
export function RowsTable<Row>(props: RowsTableProps<Row>): ReactNode {
  const { columns, groups, keyOf, open, selection } = props;
  const scroller = useRef<HTMLElement>(null);
  const table = useRef<HTMLTableElement>(null);
  const keys = groups.flatMap(({ rows }) => rows.map(keyOf));
  const [active, setActive] = useState<string | null>(open ?? null);
  const shown = useFocusKept({ keys, active, setActive, table });
  useFocusBack(open, table);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another place begins at its top
  useLayoutEffect(() => {
    scroller.current?.scrollTo(0, 0);
  }, [props.place]);
  const move = (step: number) => {
    const isInside = table.current?.contains(document.activeElement) ?? false;
    const at = shown === null ? 0 : keys.indexOf(shown);
    const next = open === undefined && !isInside ? at : at + step;
    const key = keys[Math.min(keys.length - 1, Math.max(0, next))];
    if (key === undefined) return;
    setActive(key);
    const row = rowOf(table.current, key);
    // While the focus is in the drawer, the row is only scrolled into view: j and k work from there, too.
    if (open === undefined || isInside) row?.focus();
    else row?.scrollIntoView({ block: 'nearest' });
    if (open !== undefined && key !== open) props.onOpen(key);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  const onKeyDown = useRowKeys({ ...props, move });
  const onClick = (event: MouseEvent) => {
    const target = event.target as Element;
    const key = keyAt(target);
    if (key === undefined) return;
    setActive(key);
    if (target.closest('[data-retry]') !== null) props.onRetry?.(key);
    else if (target.closest('[data-select]') !== null) selection?.toggle(key, event.shiftKey);
    else if (target.closest('button, a, input') === null && !hasSelectedText()) props.onOpen(key);
  };
  return (
    <WholeTips>
      <section
        ref={scroller}
        className={pageClasses.scroller}
        data-waiting={props.isWaiting}
        aria-label={props.label}
        tabIndex={-1}
      >
        <table
          ref={table}
          className={`${classes.table} ${props.className ?? ''}`}
          onClick={onClick}
          onKeyDown={onKeyDown}
          onFocus={(event) => setActive(keyAt(event.target) ?? null)}
        >
          <Head columns={columns} selection={selection} count={keys.length} />
          {groups.map((group) => (
            <tbody key={group.id}>
              {group.title !== undefined && (
                <tr className={classes.groupLine}>
                  <th scope="rowgroup" colSpan={columns.length + (selection === undefined ? 0 : 1)}>
                    {group.title}
                  </th>
                </tr>
              )}
              {group.rows.map((row) => {
                const key = keyOf(row);
                return (
                  <Line
                    key={key}
                    id={key}
                    row={row}
                    columns={columns as readonly Column<unknown>[]}
                    isActive={key === shown}
                    isOpen={key === open}
                    isSelected={selection?.keys.has(key)}
                  />
                );
              })}
            </tbody>
          ))}
        </table>
      </section>
    </WholeTips>
  );
}

type LineProps = {
  id: string;
  row: unknown;
  columns: readonly Column<unknown>[];
  isActive: boolean;
  isOpen: boolean;
  /** Whether the row is selected; undefined where rows cannot be selected. */
  isSelected: boolean | undefined;
};

const Line = memo(function Line(props: LineProps): ReactNode {
  const { id, row, columns, isActive, isSelected } = props;
  const tabIndex = isActive ? 0 : -1;
  return (
    <tr
      data-key={id}
      data-selected={isSelected || undefined}
      tabIndex={tabIndex}
      aria-current={props.isOpen ? 'true' : undefined}
    >
      {isSelected !== undefined && (
        <td className={classes.select}>
          <input
            type="checkbox"
            data-select
            aria-label={`Select ${id}`}
            tabIndex={tabIndex}
            checked={isSelected}
            readOnly
          />
        </td>
      )}
      {columns.map(({ name, className, cell }) => (
        <td key={name} className={className}>
          {cell(row, tabIndex)}
        </td>
      ))}
    </tr>
  );
});

function Head<Row>(props: {
  columns: readonly Column<Row>[];
  selection: Selection | undefined;
  count: number;
}): ReactNode {
  const { columns, selection, count } = props;
  return (
    <thead>
      <tr>
        {selection !== undefined && <SelectAll selection={selection} count={count} />}
        {columns.map(({ name, className }) => (
          <th key={name} scope="col" className={className}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function SelectAll({ selection, count }: { selection: Selection; count: number }): ReactNode {
  const selected = selection.keys.size;
  return (
    <td className={classes.select}>
      <input
        type="checkbox"
        aria-label="Select all rows"
        checked={count > 0 && selected === count}
        ref={(box) => {
          if (box !== null) box.indeterminate = selected > 0 && selected < count;
        }}
        onChange={(event) => selection.setAll(event.currentTarget.checked)}
      />
    </td>
  );
}

const chordMillis = 1_000;

/** Handles the keys that are pressed in a row. */
function useRowKeys<Row>(
  props: Pick<RowsTableProps<Row>, 'onOpen' | 'onRetry' | 'selection'> & {
    move: (step: number) => void;
  },
): (event: KeyboardEvent) => void {
  const chordAt = useRef(Number.NEGATIVE_INFINITY);
  return (event) => {
    const key = keyAt(event.target as Element);
    if (key === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    // The keys g r go to RECORDS; the r of these must not retry anything.
    const isChord = event.timeStamp - chordAt.current < chordMillis;
    if (event.key === 'g') chordAt.current = event.timeStamp;
    const isOnRow = event.target instanceof HTMLTableRowElement;
    const actions: Record<string, (() => void) | undefined> = {
      ArrowDown: () => props.move(1),
      ArrowUp: () => props.move(-1),
      ...(isOnRow && { Enter: () => props.onOpen(key) }),
      ...(!isChord && {
        r: props.onRetry && (() => props.onRetry?.(key)),
        x: props.selection && (() => props.selection?.toggle(key, false)),
        X: props.selection && (() => props.selection?.toggle(key, true)),
      }),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
}

function keyAt(target: Element): string | undefined {
  return target.closest<HTMLElement>('tr[data-key]')?.dataset.key;
}

function rowOf(table: HTMLTableElement | null, key: string): HTMLElement | null {
  return table?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(key)}"]`) ?? null;
}

/** Whether text is selected: the click that ends a selection must not open the drawer. */
export function hasSelectedText(): boolean {
  return (window.getSelection()?.toString() ?? '') !== '';
}

type Table = RefObject<HTMLTableElement | null>;

/**
 * The row that is a tab stop. When it leaves the list, the row that took its place becomes active; that row also gets
 * the focus if it would otherwise be lost.
 */
function useFocusKept(props: {
  keys: readonly string[];
  active: string | null;
  setActive: (key: string) => void;
  table: Table;
}): string | null {
  const { keys, active, setActive, table } = props;
  const last = useRef({ at: 0, hadFocus: false });
  const at = active === null ? -1 : keys.indexOf(active);
  const shownAt = at >= 0 ? at : Math.min(last.current.at, keys.length - 1);
  const shown = keys[Math.max(0, shownAt)] ?? null;
  // When a focused row is removed, the focus is lost without an event. So this is noted before.
  const hasFocus = table.current?.contains(document.activeElement) ?? false;
  if (at >= 0) last.current = { at, hadFocus: hasFocus };
  useLayoutEffect(() => {
    if (at >= 0 || active === null || shown === null) return;
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (last.current.hadFocus && isLost) {
      table.current?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(shown)}"]`)?.focus();
    } else {
      setActive(shown);
    }
  }, [at, active, shown, setActive, table]);
  return shown;
}

/** When the drawer closes, returns the focus to the row from which it was opened. */
export function useFocusBack(open: string | undefined, table: RefObject<HTMLElement | null>): void {
  const last = useRef(open);
  useEffect(() => {
    const before = last.current;
    last.current = open;
    if (before === undefined || open !== undefined) return;
    const focused = document.activeElement;
    if (focused !== null && focused !== document.body && !focused.closest('[data-drawer]')) return;
    table.current?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(before)}"]`)?.focus();
  }, [open, table]);
}
