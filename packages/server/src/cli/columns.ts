import type { Environment } from '../config/settings.ts';
import { formatCount } from '../kernel/values.ts';
import { targetText } from '../webhooks/values.ts';
import { formatBytes, formatInstant, formatRelative, localFormat } from './format.ts';
import type { Column } from './table.ts';

type Cell = string | number | null;
/** What a cell holds: a member of the row by its name, or what is read of the row. */
type Read<Row> = (keyof Row & string) | ((row: Row) => Cell);
/** What else is to be said of a column, where it is not as its kind is. */
type Traits<Row> = Partial<Omit<Column<Row>, 'title' | 'value'>>;

type Make<Row> = (title: string, read: Read<Row>, traits?: Traits<Row>) => Column<Row>;

/** Makes the columns of a list, by the kind of what they hold. */
type Columns<Row> = {
  /** What must not be cut, such as an id, which is copied into another command. */
  readonly word: Make<Row>;
  readonly text: Make<Row>;
  readonly count: Make<Row>;
  readonly bytes: Make<Row>;
  readonly instant: Make<Row>;
  /** How long ago it was, or will be. */
  readonly ago: Make<Row>;
  /** A URL, cut in its middle, without https://, which nearly all begin with. */
  readonly target: Make<Row>;
};

export function columnsOf<Row>(): Columns<Row> {
  const kind =
    (
      base: Traits<Row>,
      shown?: (cell: NonNullable<Cell>, nowMillis: number) => string,
    ): Make<Row> =>
    (title, read, traits) => {
      const value =
        typeof read === 'function' ? read : (row: Row) => (row[read] ?? null) as unknown as Cell;
      const column = { title, value, ...base };
      if (shown === undefined) return { ...column, ...traits };
      return {
        ...column,
        shown(row, nowMillis) {
          const cell = value(row);
          return cell === null ? '–' : shown(cell, nowMillis);
        },
        ...traits,
      };
    };
  return {
    word: kind({}),
    text: kind({ isElastic: true }),
    count: kind({ align: 'right' }, (cell) => formatCount(Number(cell))),
    bytes: kind({ align: 'right' }, (cell) => formatBytes(Number(cell))),
    instant: kind({ isInstant: true }, (cell) => formatInstant(String(cell))),
    ago: kind({}, (cell, nowMillis) => formatRelative(String(cell), nowMillis)),
    target: kind({ isElastic: true, leastWidth: 24, isCutInMiddle: true }, (cell) =>
      targetText(String(cell)).replace(/^https:\/\//, ''),
    ),
  };
}

/** The same columns, with their times in the zone of the machine, which their titles name. */
export function inLocalTime<Row>(
  columns: readonly Column<Row>[],
  env: Environment,
): readonly Column<Row>[] {
  const { zone, format } = localFormat(env);
  return columns.map((column) => {
    if (!column.isInstant) return column;
    const shown = (row: Row, nowMillis: number) => {
      const cell = column.value(row, nowMillis);
      return cell === null ? '–' : format(String(cell));
    };
    return { ...column, title: column.title.replace('UTC', zone), shown };
  });
}
