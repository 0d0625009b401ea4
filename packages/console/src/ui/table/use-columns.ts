import { useMediaQuery } from '@mantine/hooks';
import { type CSSProperties, useRef, useState } from 'react';
import type { Actor } from '../../api/types.ts';
import { useSession } from '../session.ts';
import { type Column, idOf } from './column.ts';
import {
  type ColumnLayout,
  findBare,
  findLeaving,
  formatLayout,
  orderIds,
  ownLayout,
  parseLayout,
  shareRoom,
  sizeOf,
} from './column-layout.ts';

/** The columns of a list in the order, the widths and the choice that this browser remembers for who is signed in. */
export type ColumnModel = {
  /** All columns but the one of actions. */
  readonly all: readonly Column<unknown>[];
  /** Those of them that are shown. It is the same until one comes, goes or moves. */
  readonly shown: readonly Column<unknown>[];
  /** The column of actions, which always stands at the right. */
  readonly action: Column<unknown> | undefined;
  /** Whether rows are cards: on a phone, and where not even the columns that stay have room. */
  readonly isCards: boolean;
  /** Properties for a style: the tracks of the columns, and the least width of the table. */
  readonly tracks: CSSProperties;
  readonly setOrder: (ids: readonly string[]) => void;
  readonly show: (id: string, isShown: boolean) => void;
  /** Sets the width of a column and answers it; `isFinal` is false while it is still dragged. */
  readonly resize: (id: string, px: number, isFinal?: boolean) => number;
  /** Gives a column its own width again. */
  readonly resetWidth: (id: string) => void;
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
  const { hasSelection, rows } = props;
  const [layout, keep] = useKeptLayout(`svcctl.table.${props.list}`, useSession().actor);
  const [dragged, setDragged] = useState<Record<string, number>>({});
  // Where none of the rows has a button, their column leaves its room to the others.
  const action = columns.find(
    ({ isAction, cell }) =>
      isAction && (rows.length === 0 || rows.some((row) => Boolean(cell(row, -1)))),
  );
  const placed = columns.filter((column) => !column.isAction || column === action);
  const ownPx = paddingPx + (hasSelection ? selectPx : 0) + (action === undefined ? menuPx : 0);
  const roomPx = props.roomPx - ownPx;
  const sizes = new Map(columns.map((column) => [column.id, sizeOf(column, rows)]));
  const leastOf = ({ id, width }: Column<unknown>) => sizes.get(id)?.px ?? width;
  const isPhone = useMediaQuery('(max-width: 600px)', false, { getInitialValueInEffect: false });
  const staying = placed.filter(({ rank }) => rank === undefined);
  const stayingPx = staying.reduce((sum, each) => sum + Math.min(each.width, leastOf(each)), 0);
  const isCards = isPhone || stayingPx > roomPx;
  const bare = findBare(columns, rows);
  // What a person has chosen to see stays, and then the list scrolls sideways.
  const full = placed
    .filter(({ id }) => layout.shown[id] === undefined && !bare.includes(id))
    .map((column) => ({ ...column, width: leastOf(column) }));
  const leaving = new Set(isCards ? [] : [...bare, ...findLeaving(full, roomPx)]);
  const own = columns.filter(({ isAction }) => !isAction);
  const all = orderIds(own.map(idOf), layout.order).flatMap(
    (id) => own.find((column) => column.id === id) ?? [],
  );
  const shown = useSame(all.filter(({ id }) => layout.shown[id] ?? !leaving.has(id)));
  const widths = { ...layout.widths, ...dragged };
  return {
    all,
    isCards,
    shown,
    action,
    tracks: tracksOf(shown, { hasSelection, action, sizes, roomPx, widths }),
    // Ids that the list does not have keep their places, too.
    setOrder: (ids) =>
      keep({ ...layout, order: orderIds([...new Set([...layout.order, ...ids])], ids) }),
    show: (id, isShown) => keep({ ...layout, shown: { ...layout.shown, [id]: isShown } }),
    resize: (id, px, isFinal = true) => {
      const width = Math.max(leastPx, Math.round(px));
      setDragged(isFinal ? {} : { [id]: width });
      if (isFinal) keep({ ...layout, widths: { ...layout.widths, [id]: width } });
      return width;
    },
    resetWidth: (id) => {
      const { [id]: _, ...others } = layout.widths;
      keep({ ...layout, widths: others });
    },
    reset: layout === ownLayout ? undefined : () => keep(ownLayout),
  };
}

/** The tracks of a row as a grid. */
function tracksOf(
  columns: readonly Column<unknown>[],
  props: {
    hasSelection: boolean;
    action: Column<unknown> | undefined;
    sizes: ReadonlyMap<string, { px: number; wishPx: number }>;
    roomPx: number;
    /** Those that a person has set. */
    widths: Readonly<Record<string, number>>;
  },
): CSSProperties {
  const actionPx = props.action?.width ?? 0;
  const sizes = columns.map(({ id, width }) => {
    const { [id]: set } = props.widths;
    // A width that a person has set stays.
    const own = props.sizes.get(id) ?? { px: width, wishPx: width };
    return set === undefined ? own : { px: set, wishPx: set };
  });
  const roomPx = props.roomPx - actionPx;
  // First what a column holds is whole, then it is as wide as it is by itself.
  const whole = shareRoom(sizes, roomPx).map((px, at) => ({
    px,
    wishPx: props.widths[columns[at]?.id ?? ''] ?? columns[at]?.width ?? px,
  }));
  const texts = shareRoom(whole, roomPx).map((px, at) =>
    columns[at]?.isMain ? `minmax(${px}px, 1fr)` : `${px}px`,
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

/**
 * The layout that this browser stored for somebody: by their id, because two may have one name. One that an earlier release
 * kept by the name becomes that of the first who comes with it; until there is either, the one of before people had their own
 * holds. Mantine's hook would write it at once, and lose another release's.
 */
function useKeptLayout(
  list: string,
  { id, name }: Pick<Actor, 'id' | 'name'>,
): [ColumnLayout, (layout: ColumnLayout) => void] {
  const [key, old] = [`${list}@${id}`, `${list}@${name}`];
  const [layout, setLayout] = useState(() =>
    parseLayout(
      withStorage((all) => {
        const moved = all.getItem(old);
        if (moved !== null && all.getItem(key) === null) all.setItem(key, moved);
        all.removeItem(old);
        return all.getItem(key) ?? all.getItem(list);
      }),
    ),
  );
  const keep = (next: ColumnLayout) => {
    setLayout(next);
    // One that was reset is stored, too: the layout of before is still that of others.
    withStorage((all) => all.setItem(key, formatLayout(next)));
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
