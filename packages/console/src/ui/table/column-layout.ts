import { type CellValue, type Column, offered } from './column.ts';

/** What a person chose about the columns of a list. What is not chosen is as the list itself has it. */
export type ColumnLayout = {
  /** Ids in the chosen order; empty when no order was chosen. */
  readonly order: readonly string[];
  /** Ids that were shown (true) or hidden (false). */
  readonly shown: Readonly<Record<string, boolean>>;
  /** Widths in pixels by id. */
  readonly widths: Readonly<Record<string, number>>;
};

export const ownLayout: ColumnLayout = { order: [], shown: {}, widths: {} };

/** It changes when layouts that were stored before can no longer be read. */
const version = 1;

/** The text under which this browser stores a layout. */
export function formatLayout(layout: ColumnLayout): string {
  return JSON.stringify({ version, ...layout });
}

/**
 * Reads what `formatLayout` wrote. Columns that the list does not have are kept: another release of the console may
 * have them. Whatever else the text holds is left out, and a text of another version is no layout at all.
 */
export function parseLayout(text: string | null): ColumnLayout {
  const stored = readObject(text);
  if (stored.version !== version) return ownLayout;
  const { order, shown, widths } = stored;
  const layout = {
    order: Array.isArray(order) ? [...new Set(order.filter((id) => typeof id === 'string'))] : [],
    shown: entriesOf<boolean>(shown, (value) => typeof value === 'boolean'),
    widths: entriesOf<number>(widths, (value) => typeof value === 'number' && value > 0),
  };
  return formatLayout(layout) === formatLayout(ownLayout) ? ownLayout : layout;
}

function readObject(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function entriesOf<Value>(
  object: unknown,
  isValue: (value: unknown) => boolean,
): Record<string, Value> {
  if (typeof object !== 'object' || object === null) return {};
  return Object.fromEntries(Object.entries(object).filter(([, value]) => isValue(value)));
}

/** All ids of `own`, in the order of `chosen`; one that it lacks stands behind the one that it follows in `own`. */
export function orderIds(own: readonly string[], chosen: readonly string[]): string[] {
  const known = new Set(own);
  const ordered = chosen.filter((id) => known.has(id));
  for (const [at, id] of own.entries()) {
    if (ordered.includes(id)) continue;
    const before = own[at - 1];
    ordered.splice(before === undefined ? 0 : ordered.indexOf(before) + 1, 0, id);
  }
  return ordered;
}

/** The ids with one of them moved to the place that another one has. */
export function moveId(ids: readonly string[], id: string, to: string): string[] {
  const place = ids.indexOf(to);
  if (place < 0 || id === to) return [...ids];
  return ids.filter((each) => each !== id).toSpliced(place, 0, id);
}

type Sized = Pick<Column<unknown>, 'name' | 'width' | 'isMain' | 'isText' | 'shown' | 'value'>;

/**
 * The least width in pixels of a column, and the one that shows its longest text whole. Short text makes a column narrower
 * than its own width before another one has to leave, and the main one has room for text of the usual length.
 */
export function sizeOf(column: Sized, rows: readonly unknown[]): { px: number; wishPx: number } {
  const { name, width, isMain, isText, value } = column;
  const textOf = column.shown ?? (isText ? value : undefined);
  if (textOf === undefined || rows.length === 0) return { px: width, wishPx: width };
  const longest = rows.reduce<number>((most, row) => Math.max(most, `${textOf(row)}`.length), 0);
  const wholePx = Math.max(Math.ceil(longest * letterPx) + cellPaddingPx, headPx(name));
  const mostPx = isMain ? Math.max(width, mainPx) : width;
  return { px: Math.min(wholePx, mostPx), wishPx: wholePx };
}

/** The width in pixels that shows the name of a column whole. */
export function headPx(name: string): number {
  return name.length * capitalPx + cellPaddingPx;
}

/** A letter of 13 px is as wide on the average, measured over errors and addresses. */
const letterPx = 7.2;
/** A letter in the head of a table. */
const capitalPx = 8;
const cellPaddingPx = 16;
/** Up to this width the text of the main column is whole before others have room. */
const mainPx = 280;

/** Divides the room that is left among widths that are below what is wished for: alike, until each has its wish. */
export function shareRoom(
  columns: readonly { readonly px: number; readonly wishPx: number }[],
  roomPx: number,
): number[] {
  const widths = columns.map(({ px }) => px);
  let leftPx = roomPx - widths.reduce((sum, px) => sum + px, 0);
  const order = columns
    .map(({ px, wishPx }, at) => ({ at, missing: wishPx - px }))
    .filter(({ missing }) => missing > 0)
    .sort((a, b) => a.missing - b.missing);
  for (const [done, { at, missing }] of order.entries()) {
    const px = Math.max(0, Math.min(missing, Math.floor(leftPx / (order.length - done))));
    widths[at] = (widths[at] ?? 0) + px;
    leftPx -= px;
  }
  return widths;
}

type Fitted = {
  readonly id: string;
  readonly width: number;
  /** Columns of a higher rank leave first; a column without one stays. */
  readonly rank?: number | undefined;
};

/** The ids of the columns that leave, so that the others fit into the room. Those that are only offered leave anyway. */
export function findLeaving(columns: readonly Fitted[], roomPx: number): ReadonlySet<string> {
  const leaving = new Set<string>();
  let widthPx = columns.reduce((sum, { width }) => sum + width, 0);
  for (const { id, width, rank } of columns
    .filter(({ rank }) => rank !== undefined)
    .sort((a, b) => (b.rank ?? 0) - (a.rank ?? 0))) {
    if (widthPx <= roomPx && rank !== offered) break;
    leaving.add(id);
    widthPx -= width;
  }
  return leaving;
}

/** The ids of the columns that have nothing to show in any of these rows, of which there are some. */
export function findBare<Row>(
  columns: readonly Pick<Column<Row>, 'id' | 'isMain' | 'isKept' | 'value'>[],
  rows: readonly Row[],
): string[] {
  if (rows.length === 0) return [];
  return columns
    .filter(
      ({ isMain, isKept, value }) =>
        !isMain && !isKept && value && rows.every((row) => isNothing(value(row))),
    )
    .map(({ id }) => id);
}

const isNothing = (value: CellValue) => value === null || value === '' || value === '–';
