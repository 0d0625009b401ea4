import { ActionIcon, Popover } from '@mantine/core';
import type { ReactNode } from 'react';
import controls from '../controls.module.css';
import { ColumnsIcon, CopyIcon, DownIcon, DownloadIcon, ResetIcon, UpIcon } from '../icons.tsx';
import { whereFree } from '../keys.ts';
import { notify } from '../toasts.tsx';
import { countOf } from '../words.ts';
import { idOf } from './column.ts';
import { moveId } from './column-layout.ts';
import { csvOf, downloadCsv } from './csv.ts';
import classes from './data-table.module.css';
import type { ColumnModel } from './use-columns.ts';

export type ColumnsMenuProps = { list: string; model: ColumnModel; rows: readonly unknown[] };

/** The menu of a list: which columns it has and in which order, and its rows as CSV. */
export function ColumnsMenu(props: ColumnsMenuProps): ReactNode {
  const { model } = props;
  return (
    <Popover position="bottom-end" width={264} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon className="muted" aria-label="Columns" size={24}>
          <ColumnsIcon />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={controls.menu}>
        <Choices model={model} />
        <hr className={classes.menuLine} />
        <CsvItems {...props} />
        <hr className={classes.menuLine} />
        <button
          type="button"
          className={controls.menuItem}
          disabled={model.reset === undefined}
          onClick={model.reset}
        >
          <ResetIcon />
          Reset columns
        </button>
      </Popover.Dropdown>
    </Popover>
  );
}

/** A line for each column: whether it is shown, and buttons that move it. */
function Choices({ model }: { model: ColumnModel }): ReactNode {
  const ids = model.all.map(idOf);
  const move = (id: string, to = id) => model.setOrder(moveId(ids, id, to));
  return (
    <ul className={classes.choices} aria-label="Columns">
      {model.all.map((column, at) => {
        const { id, name, isMain } = column;
        return (
          <li key={id}>
            <label>
              <input
                type="checkbox"
                checked={model.shown.includes(column)}
                disabled={isMain}
                onChange={(event) => model.show(id, event.currentTarget.checked)}
              />
              {name}
            </label>
            <ActionIcon
              size={24}
              aria-label={`Move ${name} up`}
              {...whereFree(at > 0, () => move(id, ids[at - 1]))}
            >
              <UpIcon />
            </ActionIcon>
            <ActionIcon
              size={24}
              aria-label={`Move ${name} down`}
              {...whereFree(at < ids.length - 1, () => move(id, ids[at + 1]))}
            >
              <DownIcon />
            </ActionIcon>
          </li>
        );
      })}
    </ul>
  );
}

/** Entries that copy and download the rows that are loaded, with the columns that are shown. */
function CsvItems({ list, model, rows }: ColumnsMenuProps): ReactNode {
  const csv = () => csvOf(model.shown, rows);
  const copy = async () => {
    const text = await navigator.clipboard.writeText(csv()).then(
      () => `Copied ${countOf(rows.length, 'row')} as CSV`,
      () => 'The browser refused to copy',
    );
    notify({ text });
  };
  return (
    <>
      <button type="button" className={controls.menuItem} onClick={() => void copy()}>
        <CopyIcon />
        Copy as CSV
      </button>
      <button
        type="button"
        className={controls.menuItem}
        onClick={() => downloadCsv(`${list}-${new Date().toISOString().slice(0, 10)}.csv`, csv())}
      >
        <DownloadIcon />
        Download CSV
      </button>
    </>
  );
}
