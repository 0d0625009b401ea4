import type { ReactNode } from 'react';
import { formatBytes, formatCount } from '../format.ts';
import { CutText, Moment } from '../marks.tsx';
import type { CellValue, Column } from './column.ts';
import { ShortId } from './whole-tips.tsx';

/** What else is to be said of a column, where it is not as its kind is. */
type Traits<Row> = Partial<Omit<Column<Row>, 'id' | 'name' | 'width'>>;

/** Makes a column, named after the member of the row that it shows; with `value` it may show anything. */
type Make<Row> = {
  (id: keyof Row & string, name: string, widthPx: number, traits?: Traits<Row>): Column<Row>;
  (
    id: string,
    name: string,
    widthPx: number,
    traits: Traits<Row> & Required<Pick<Column<Row>, 'value'>>,
  ): Column<Row>;
};

/** Makes the columns of a list, by the kind of what they hold. */
type Columns<Row> = {
  /** Text that is cut in its middle when there is too little room. */
  readonly text: Make<Row>;
  /** Text that is cut at its end. */
  readonly sentence: Make<Row>;
  readonly moment: Make<Row>;
  readonly count: Make<Row>;
  readonly bytes: Make<Row>;
  /** An id, of which the ends are shown, and which a click copies. */
  readonly shortId: Make<Row>;
  /** A cell that is drawn in its own way, or as its value is. */
  readonly own: Make<Row>;
  /** The buttons of a row. */
  readonly action: (widthPx: number, cell: Column<Row>['cell']) => Column<Row>;
};

const figure = { isFigure: true } as const;

export function columnsOf<Row>(): Columns<Row> {
  const kind =
    (
      draw: (cell: CellValue, name: string, tabIndex: number) => ReactNode,
      base: Traits<Row> = {},
    ): Make<Row> =>
    (id: string, name: string, width: number, traits: Traits<Row> = {}) => {
      const { value = (row: Row) => (row[id as keyof Row] ?? null) as CellValue } = traits;
      const cell = (row: Row, tabIndex: number) => draw(value(row), name.toLowerCase(), tabIndex);
      return { id, name, width, value, cell, ...base, ...traits };
    };
  return {
    text: kind((cell) => <CutText text={String(cell ?? '–')} />, { isText: true }),
    sentence: kind((cell) => <CutText text={String(cell ?? '–')} end="" />, { isText: true }),
    moment: kind((cell) => <Moment at={cell as string | null} />),
    count: kind((cell) => (cell === null ? nothing : formatCount(Number(cell))), figure),
    bytes: kind((cell) => (cell === null ? nothing : formatBytes(Number(cell))), figure),
    shortId: kind((cell, name, tabIndex) => (
      <ShortId value={String(cell)} name={name} tabIndex={tabIndex} />
    )),
    own: kind((cell) => cell ?? nothing),
    action: (width, cell) => ({ id: 'action', name: 'ACTION', width, isAction: true, cell }),
  };
}

const nothing = <span className="muted">–</span>;
