import {
  type DragEvent,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useRef,
  useState,
} from 'react';
import { idOf } from './column.ts';
import { moveId } from './column-layout.ts';
import { ColumnsMenu, type ColumnsMenuProps } from './columns-menu.tsx';
import classes from './data-table.module.css';
import { roles } from './rows.tsx';
import type { ColumnModel } from './use-columns.ts';
import type { Selection } from './use-selection.ts';

const stepPx = 16;
const hint =
  'Arrow keys go to other columns, with Shift they change the width, with Alt the place.';

type TableHeadProps = ColumnsMenuProps & {
  /** The name of the list, above its cards. */
  label: string;
  selection: Selection | undefined;
  /** Tells a screen reader what a key has changed. */
  onSay: (text: string) => void;
};

/**
 * The head of a list. It is one tab stop: ← and → go from column to column, with Shift they change its width, with Alt
 * its place. The mouse drags a column by its name, and its width by its edge.
 */
export function TableHead(props: TableHeadProps): ReactNode {
  const { model, selection } = props;
  const { action, isCards } = model;
  return (
    <thead {...roles.group} className={classes.head}>
      <tr {...roles.row}>
        {selection !== undefined && <SelectAll selection={selection} count={props.rows.length} />}
        {isCards ? (
          <th {...roles.columnHeader} scope="col">
            <span className={classes.listName}>{props.label}</span>
          </th>
        ) : (
          <Names model={model} onSay={props.onSay} />
        )}
        <th {...roles.columnHeader} scope="col" className={classes.action}>
          {action !== undefined && !isCards && action.name}
          <ColumnsMenu {...props} />
        </th>
      </tr>
    </thead>
  );
}

/** The names of the columns. */
function Names({ model, onSay }: Pick<TableHeadProps, 'model' | 'onSay'>): ReactNode {
  const { shown } = model;
  const [focused, setFocused] = useState<string>();
  const drag = useDrag(model);
  const cells = useRef(new Map<string, HTMLElement>());
  const stop = shown.some(({ id }) => id === focused) ? focused : shown[0]?.id;
  const mainAt = shown.findIndex(({ isMain }) => isMain);
  const onKeyDown = (event: KeyboardEvent, at: number) => {
    const column = shown[at];
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (column === undefined || step === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { id, name } = column;
    const next = shown[at + step];
    if (event.shiftKey) {
      if (column.isMain) return;
      const widthPx = event.currentTarget.clientWidth + step * stepPx;
      onSay(`${name}: ${model.resize(id, widthPx)} pixels wide`);
    } else if (event.altKey && next !== undefined) {
      model.setOrder(moveId(idsOf(model), id, next.id));
      onSay(`${name}: column ${at + step + 1} of ${shown.length}`);
    } else if (next !== undefined) {
      cells.current.get(next.id)?.focus();
    }
  };
  return shown.map(({ id, name, isMain, isFigure }, at) => (
    <th
      key={id}
      {...roles.columnHeader}
      ref={(cell) => {
        if (cell !== null) cells.current.set(id, cell);
      }}
      scope="col"
      className={classes.name}
      data-column={id}
      data-figure={isFigure}
      tabIndex={id === stop ? 0 : -1}
      aria-description={hint}
      onFocus={() => setFocused(id)}
      onKeyDown={(event) => onKeyDown(event, at)}
      {...drag(id)}
    >
      <span>{name}</span>
      {!isMain && <Edge id={id} model={model} side={at < mainAt ? 'end' : 'start'} />}
    </th>
  ));
}

function idsOf({ all }: ColumnModel): string[] {
  return all.map(idOf);
}

/**
 * The edge by which the mouse changes the width of a column; a double click restores its own width. The main column
 * takes what is left, so the columns before it have their edge at their end, and those behind it at their start: then
 * the edge stays under the mouse.
 */
function Edge(props: { id: string; model: ColumnModel; side: 'start' | 'end' }): ReactNode {
  const { id, model, side } = props;
  const grip = useRef<{ x: number; px: number } | null>(null);
  const resize = (event: PointerEvent, isFinal: boolean) => {
    if (grip.current === null) return;
    const movedPx = (event.clientX - grip.current.x) * (side === 'end' ? 1 : -1);
    // A click without a movement does not set a width.
    if (movedPx !== 0) model.resize(id, grip.current.px + movedPx, isFinal);
    if (isFinal) grip.current = null;
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: for the mouse; keys do the same on the name
    <span
      className={classes.edge}
      data-side={side}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const px = event.currentTarget.parentElement?.clientWidth ?? 0;
        grip.current = { x: event.clientX, px };
      }}
      // Otherwise the name would be dragged.
      onMouseDown={(event) => event.preventDefault()}
      onPointerMove={(event) => resize(event, false)}
      onPointerUp={(event) => resize(event, true)}
      onPointerCancel={(event) => resize(event, true)}
      onDoubleClick={() => model.resetWidth(id)}
    />
  );
}

/** Attributes with which a column is dragged by its name to the place of another. */
function useDrag(model: ColumnModel) {
  const [dragged, setDragged] = useState<string | null>(null);
  const [over, setOver] = useState<string | null>(null);
  const end = () => {
    setDragged(null);
    setOver(null);
  };
  return (id: string) => ({
    draggable: true,
    'data-over': dragged !== null && over === id ? sideOf(idsOf(model), dragged, id) : undefined,
    onDragStart: (event: DragEvent) => {
      event.dataTransfer.effectAllowed = 'move';
      event.dataTransfer.setData('text/plain', id);
      setDragged(id);
    },
    onDragOver: (event: DragEvent) => {
      if (dragged === null) return;
      event.preventDefault();
      setOver(id);
    },
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      if (dragged !== null) model.setOrder(moveId(idsOf(model), dragged, id));
      end();
    },
    onDragEnd: end,
  });
}

/** At which side of the column `id` the dragged one will stand. */
function sideOf(ids: readonly string[], dragged: string, id: string): string | undefined {
  if (dragged === id) return undefined;
  return ids.indexOf(dragged) < ids.indexOf(id) ? 'end' : 'start';
}

function SelectAll({ selection, count }: { selection: Selection; count: number }): ReactNode {
  const selected = selection.keys.size;
  return (
    <td {...roles.cell} className={classes.select}>
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
