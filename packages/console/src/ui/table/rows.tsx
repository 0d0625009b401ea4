import { memo, type ReactNode } from 'react';
import type { Column } from './column.ts';
import classes from './data-table.module.css';

/** Tables that are drawn as grids say what they are: Safari takes them for plain text otherwise. */
export const roles = {
  table: { role: 'table' },
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  rowHeader: { role: 'rowheader' },
  columnHeader: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const;

type LineProps = {
  id: string;
  row: unknown;
  columns: readonly Column<unknown>[];
  action: Column<unknown> | undefined;
  isCard: boolean;
  isActive: boolean;
  isOpen: boolean;
  /** Whether the row is selected; undefined where rows cannot be selected. */
  isSelected: boolean | undefined;
};

/** A row: a cell for each column, or a card. */
export const Line = memo(function Line(props: LineProps): ReactNode {
  const { id, row, columns, action, isSelected } = props;
  const tabIndex = props.isActive ? 0 : -1;
  return (
    <tr
      {...roles.row}
      className={classes.row}
      data-key={id}
      data-selected={isSelected || undefined}
      tabIndex={tabIndex}
      aria-current={props.isOpen ? 'true' : undefined}
    >
      {isSelected !== undefined && (
        <td {...roles.cell} className={classes.select} data-select>
          <input
            type="checkbox"
            aria-label={`Select ${id}`}
            tabIndex={tabIndex}
            checked={isSelected}
            readOnly
          />
        </td>
      )}
      {props.isCard ? (
        <td {...roles.cell} className={classes.card}>
          <Card row={row} columns={columns} tabIndex={tabIndex} />
        </td>
      ) : (
        columns.map((column) => (
          <td
            key={column.id}
            {...roles.cell}
            className={classes.cell}
            data-figure={column.isFigure}
          >
            {column.cell(row, tabIndex)}
          </td>
        ))
      )}
      {action !== undefined && (
        <td {...roles.cell} className={classes.action}>
          {action.cell(row, tabIndex)}
        </td>
      )}
    </tr>
  );
});

function Card(props: {
  row: unknown;
  columns: readonly Column<unknown>[];
  tabIndex: number;
}): ReactNode {
  const { row, columns, tabIndex } = props;
  const partsOf = (...places: readonly NonNullable<Column<unknown>['card']>[]) =>
    columns
      // There is no head above a card, so a dash would say nothing.
      .filter(
        ({ card, value }) => card !== undefined && places.includes(card) && value?.(row) !== null,
      )
      .map(({ id, name, card, cell }) => (
        <span key={id} className={`inline-row gap-4 shrink ${classes.part}`}>
          {card === 'fact' && <span className={classes.factName}>{name}</span>}
          {cell(row, tabIndex)}
        </span>
      ));
  const [titles, lines, notes] = [partsOf('title'), partsOf('line'), partsOf('note', 'fact')];
  return (
    <>
      {titles.length > 0 && <div className={`bold ${classes.cardTitle}`}>{titles}</div>}
      {lines.length > 0 && <div className={classes.cardLine}>{lines}</div>}
      {notes.length > 0 && <div className={`muted ${classes.cardNotes}`}>{notes}</div>}
    </>
  );
}
