import type { ReactNode } from 'react';

/** What a cell holds, as CSV has it: whole ids, exact times, plain numbers. */
export type CellValue = string | number | boolean | null;

/** One column of a list. */
export type Column<Row> = {
  /** The name under which this browser remembers the column. It is unique in its list, and never changes. */
  readonly id: string;
  readonly name: string;
  /** The width in pixels that the column has until a person changes it; of the main column the least width. */
  readonly width: number;
  /** Whether the column takes the width that is left. Each list has one, which is always shown. */
  readonly isMain?: boolean;
  /** Whether a cell shows its value as it is. Then the column is given the width of its longest, if there is room. */
  readonly isText?: boolean;
  /** The text in a cell, where that is another than its value: it gives the column its width, too. */
  readonly shown?: (row: Row) => string;
  /** Whether the column holds the buttons of a row: then it stands at the right, whatever is scrolled. */
  readonly isAction?: boolean;
  /** Where there is too little room, columns of higher rank leave first; `offered` is shown only where it is chosen. */
  readonly rank?: number;
  /** Whether the column stays where no row has anything to show in it. */
  readonly isKept?: boolean;
  /** Figures stand at the right. */
  readonly isFigure?: boolean;
  /**
   * Where the column stands on a card, which a row is on a phone: in its title, on the line below it, or after them as
   * a note, with its name (`fact`) or without. A column without a place is not on the card.
   */
  readonly card?: 'title' | 'line' | 'note' | 'fact';
  /** Draws a cell. Its links and buttons take this tab index: Tab stops only at those of the active row. */
  readonly cell: (row: Row, tabIndex: number) => ReactNode;
  /** What the cell holds, for CSV. A column without it is not in there. */
  readonly value?: (row: Row) => CellValue;
};

export const offered = Number.POSITIVE_INFINITY;

/** The key of a row that has an id. */
export function idOf({ id }: { readonly id: string }): string {
  return id;
}
