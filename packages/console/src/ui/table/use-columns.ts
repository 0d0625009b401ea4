import { useMediaQuery } from '@mantine/hooks';
import {
  columnOrderingFeature,
  columnPinningFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  functionalUpdate,
  metaHelper,
  type Table,
  type Column as TableColumn,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { type CSSProperties, useMemo, useRef, useState } from 'react';
import type { Column } from './column.ts';
import {
  type ColumnLayout,
  findBare,
  findLeaving,
  formatLayout,
  orderIds,
  ownLayout,
  parseLayout,
  shareRoom,
  wishOf,
} from './column-layout.ts';

const features = tableFeatures({
  columnOrderingFeature,
  columnPinningFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  columnMeta: metaHelper<{ column: Column<unknown> }>(),
});
type Features = typeof features;

/** The columns of a list as the library knows them. They know their places and widths, not what is in them. */
type ModelColumn = TableColumn<Features, object>;

/** The columns of a list in the order, the widths and the choice that this browser remembers. */
export type ColumnModel = {
  readonly table: Pick<Table<Features, object>, 'getAllLeafColumns' | 'getColumn'>;
  /** The columns that are shown, without the one of actions. It is the same until one comes, goes or moves. */
  readonly shown: readonly Column<unknown>[];
  /** The column of actions, which always stands at the right. */
  readonly action: Column<unknown> | undefined;
  /** Whether rows are cards: on a phone, and where not even the columns that stay have room. */
  readonly isCards: boolean;
  /** Properties for a style: the tracks of the columns, and the least width of the table. */
  readonly tracks: CSSProperties;
  readonly setOrder: (ids: readonly string[]) => void;
  /** Sets the width of a column and answers it; `isFinal` is false while it is still dragged. */
  readonly resize: (id: string, px: number, isFinal?: boolean) => number;
  /** Forgets everything that was chosen; undefined when nothing was. */
  readonly reset: (() => void) | undefined;
};

// The room that a list needs beside its columns: its padding, the boxes that select rows, and the button for the
// columns, where no column of actions has room for it.
const paddingPx = 8;
const selectPx = 36;
const menuPx = 40;
/** No column can be made narrower. */
const leastPx = 56;

const noRows: object[] = [];

/** Keeps the columns of a list. Those that have no room leave, by their rank. */
export function useColumns<Row>(props: {
  list: string;
  columns: readonly Column<Row>[];
  hasSelection: boolean;
  rows: readonly Row[];
  /** The width of the list in pixels. */
  roomPx: number;
}): ColumnModel {
  const columns = props.columns as readonly Column<unknown>[];
  const { hasSelection } = props;
  const [layout, keep] = useKeptLayout(`svcctl.table.${props.list}`);
  const [dragged, setDragged] = useState<Record<string, number>>({});
  const definitions = useMemo(() => columns.map(defineColumn), [columns]);
  // Where none of the rows has a button, their column leaves its room to the others.
  const action = columns.find(
    ({ isAction, cell }) =>
      isAction && (props.rows.length === 0 || props.rows.some((row) => Boolean(cell(row, -1)))),
  );
  const ownPx = paddingPx + (hasSelection ? selectPx : 0) + (action === undefined ? menuPx : 0);
  const roomPx = props.roomPx - ownPx;
  const isPhone = useMediaQuery('(max-width: 600px)', false, { getInitialValueInEffect: false });
  const staying = columns.filter(({ rank }) => rank === undefined);
  const isCards = isPhone || widthOf(staying) > roomPx;
  const bare = findBare(columns, props.rows).join(' ');
  const leaving = useMemo(() => {
    // What a person has chosen to see stays, and then the list scrolls sideways.
    const free = columns.filter(({ id }) => layout.shown[id] === undefined);
    if (isCards) return new Set<string>();
    const ids = new Set(bare.split(' '));
    const full = free.filter(({ id }) => !ids.has(id));
    return new Set([
      ...free.filter(({ id }) => ids.has(id)).map(({ id }) => id),
      ...findLeaving(full, roomPx),
    ]);
  }, [columns, layout.shown, isCards, roomPx, bare]);
  const state = useMemo(
    () => ({
      columnOrder: orderIds(
        columns.map(({ id }) => id),
        layout.order,
      ),
      columnVisibility: {
        ...Object.fromEntries([...leaving].map((id) => [id, false])),
        ...layout.shown,
      },
      columnSizing: { ...layout.widths, ...dragged },
      columnPinning: { start: [], end: action === undefined ? [] : [action.id] },
    }),
    [columns, layout, leaving, dragged, action],
  );
  const table = useTable({
    features,
    columns: definitions,
    data: noRows,
    state,
    onColumnOrderChange: (change) => {
      const order = functionalUpdate(change, state.columnOrder);
      // Ids that the list does not have keep their places, too.
      keep({ ...layout, order: orderIds([...new Set([...layout.order, ...order])], order) });
    },
    // The change is one of what was chosen: a column that has left for want of room was not hidden by anybody.
    onColumnVisibilityChange: (change) =>
      keep({ ...layout, shown: functionalUpdate(change, { ...layout.shown }) }),
    onColumnSizingChange: (change) =>
      keep({ ...layout, widths: functionalUpdate(change, { ...layout.widths }) }),
  });
  const visible = table.getCenterVisibleLeafColumns();
  return {
    table,
    isCards,
    shown: useSame(visible.flatMap(({ columnDef }) => columnDef.meta?.column ?? [])),
    action,
    tracks: tracksOf(visible, { hasSelection, action, rows: props.rows, roomPx }),
    setOrder: (ids) => table.setColumnOrder([...ids]),
    resize: (id, px, isFinal = true) => {
      const width = Math.max(leastPx, Math.round(px));
      setDragged(isFinal ? {} : { [id]: width });
      if (isFinal) table.setColumnSizing((widths) => ({ ...widths, [id]: width }));
      return width;
    },
    reset: layout === ownLayout ? undefined : () => keep(ownLayout),
  };
}

function widthOf(columns: readonly Column<unknown>[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}

/** The tracks of a row as a grid. */
function tracksOf(
  columns: readonly ModelColumn[],
  props: {
    hasSelection: boolean;
    action: Column<unknown> | undefined;
    rows: readonly unknown[];
    roomPx: number;
  },
): CSSProperties {
  const actionPx = props.action?.width ?? 0;
  const sizes = columns.map((column) => {
    const px = column.getSize();
    const own = column.columnDef.meta?.column;
    // A width that a person has set stays.
    return { px, wishPx: px === own?.width ? wishOf(own, props.rows) : px };
  });
  const texts = shareRoom(sizes, props.roomPx - actionPx).map((px, at) =>
    columns[at]?.columnDef.meta?.column.isMain ? `minmax(${px}px, 1fr)` : `${px}px`,
  );
  const before = props.hasSelection ? [`${selectPx}px`] : [];
  const last = actionPx || menuPx;
  const beside = paddingPx + last + (props.hasSelection ? selectPx : 0);
  return {
    '--tracks': [...before, ...texts, `${last}px`].join(' '),
    minWidth: sizes.reduce((sum, { px }) => sum + px, beside),
  } as CSSProperties;
}

/** The list of before for as long as it has the same members. */
function useSame<Item>(list: readonly Item[]): readonly Item[] {
  const last = useRef(list);
  const isSame =
    list.length === last.current.length && list.every((item, at) => item === last.current[at]);
  if (!isSame) last.current = list;
  return last.current;
}

/** The layout that this browser stored. Mantine's hook would write it at once, and lose another release's. */
function useKeptLayout(key: string): [ColumnLayout, (layout: ColumnLayout) => void] {
  const [layout, setLayout] = useState(() => parseLayout(withStorage((all) => all.getItem(key))));
  const keep = (next: ColumnLayout) => {
    setLayout(next);
    withStorage((all) =>
      next === ownLayout ? all.removeItem(key) : all.setItem(key, formatLayout(next)),
    );
  };
  return [layout, keep];
}

/** A browser may refuse to store anything: then a choice holds for as long as the list is shown. */
function withStorage<Result>(use: (storage: Storage) => Result): Result | null {
  try {
    return use(window.localStorage);
  } catch {
    return null;
  }
}

function defineColumn(column: Column<unknown>) {
  return {
    id: column.id,
    header: column.name,
    size: column.width,
    minSize: Math.min(leastPx, column.width),
    enableHiding: !column.isMain && !column.isAction,
    meta: { column },
  };
}
