import { ActionIcon, Button, Checkbox, SegmentedControl, TextInput, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { CloseIcon } from '../../ui/icons.tsx';
import type { SliceParams } from '../search.ts';
import { noPlaceholder } from '../use-poll.ts';
import { type ExportChoice, exportLine, fileName } from './cli-line.ts';
import classes from './export.module.css';
import { exportColumns, parsePaths } from './export-columns.ts';
import { ExportOutcome, ExportProgressBar } from './export-progress.tsx';
import { canPickFile } from './pick-file.ts';
import { type ExportState, useExport } from './use-export.ts';

export type ExportPanelProps = {
  slice: SliceParams;
  kind: string | undefined;
  /** Set in the table, but no filter of exports. */
  source: string | undefined;
  /** First and last day of the node, for the command line. */
  days: [string, string] | null;
  onClose: () => void;
};

/** The slice as a CSV file: how much it is, what goes in, how far it is, and whether it is whole. */
export function ExportPanel(props: ExportPanelProps): ReactNode {
  const { state, start, cancel, reset } = useExport();
  const [isSmall, setSmall] = useState(false);
  // What is exported stays the same while other nodes are looked at.
  const [{ slice, kind, source, days }] = useState(props);
  const [columns, setColumns] = useState<readonly string[]>(exportColumns);
  const [pathText, setPathText] = useState('');
  const [profile, setProfile] = useState<'machine' | 'spreadsheet'>('machine');
  const [header, setHeader] = useState(true);
  const { paths, fault } = parsePaths(pathText);
  const chosen = [...exportColumns.filter((name) => columns.includes(name)), ...paths];
  const isAll = paths.length === 0 && chosen.length === exportColumns.length;
  const choice: ExportChoice = {
    slice,
    kind,
    columns: isAll ? undefined : chosen,
    profile,
    header,
  };
  const estimate = useQuery({
    queryKey: ['records', 'estimate', slice, kind],
    placeholderData: noPlaceholder,
    queryFn: ({ signal }) =>
      api.get<{ rows: number; bytes: number }>('/exports/estimate', { ...slice, kind }, signal),
  });
  const failure = useFailure(estimate);
  const isRunning = state.step === 'running' || state.step === 'starting';
  const close = useClose(isRunning, () => setSmall(true), props.onClose);
  const heading = useFocusOnce();
  if (isSmall) {
    return (
      <aside className={classes.small} aria-label="Export">
        <ExportProgressBar state={state} />
        {state.step === 'failed' && <span role="status">The export failed.</span>}
        {state.step === 'cancelled' && <span role="status">Cancelled</span>}
        <Button size="compact-xs" onClick={() => setSmall(false)}>
          Show
        </Button>
      </aside>
    );
  }
  const body = {
    ...slice,
    ...(kind === undefined ? {} : { kind }),
    ...(choice.columns === undefined ? {} : { columns: choice.columns }),
    profile,
    header,
  };
  const line = exportLine(choice, days);
  const isDone = state.step === 'done' || state.step === 'downloading';
  return (
    <aside className={classes.panel} data-drawer aria-labelledby="export-title">
      <header className={classes.head}>
        <h2 id="export-title" ref={heading} tabIndex={-1}>
          EXPORT CSV <span>{sliceText(slice)}</span>
        </h2>
        <Tooltip label={isRunning ? 'Make small; the export goes on' : 'Close (Esc)'}>
          <ActionIcon aria-label={isRunning ? 'Make small' : 'Close export'} onClick={close}>
            <CloseIcon />
          </ActionIcon>
        </Tooltip>
      </header>
      <div className={classes.body}>
        {failure !== null && estimate.data === undefined ? (
          <FailurePanel error={failure} onRetry={() => void estimate.refetch()} />
        ) : (
          <Estimate estimate={estimate.data} kind={kind} source={source} />
        )}
        <Choices
          isFixed={isRunning || isDone}
          columns={columns}
          onColumns={setColumns}
          pathText={pathText}
          fault={fault}
          onPathText={setPathText}
          profile={profile}
          onProfile={setProfile}
          header={header}
          onHeader={setHeader}
        />
        <CliLine line={line} />
      </div>
      <Foot
        state={state}
        canStart={fault === null && chosen.length > 0 && estimate.data !== undefined}
        onStart={() => void start({ body, fileName: fileName(choice), hasHeader: header })}
        onCancel={cancel}
        onReset={reset}
        onClose={props.onClose}
      />
    </aside>
  );
}

type FootProps = {
  state: ExportState;
  canStart: boolean;
  onStart: () => void;
  onCancel: () => void;
  onReset: () => void;
  onClose: () => void;
};

function Foot(props: FootProps): ReactNode {
  const { state, canStart, onStart, onCancel, onReset, onClose } = props;
  const isRunning = state.step === 'running' || state.step === 'starting';
  const isDone = state.step === 'done' || state.step === 'downloading';
  return (
    <footer className={classes.foot}>
      <ExportProgressBar state={state} />
      <ExportOutcome state={state} />
      <div className={classes.buttons}>
        {isRunning ? (
          <Button onClick={onCancel}>CANCEL</Button>
        ) : isDone ? (
          <>
            <Button onClick={onReset}>Export again</Button>
            <Button onClick={onClose}>Close</Button>
          </>
        ) : (
          <Button variant="filled" disabled={!canStart} onClick={onStart}>
            {canPickFile() ? 'START: choose a file' : 'START download'}
          </Button>
        )}
      </div>
    </footer>
  );
}

type ChoicesProps = {
  isFixed: boolean;
  columns: readonly string[];
  onColumns: (columns: string[]) => void;
  pathText: string;
  fault: string | null;
  onPathText: (text: string) => void;
  profile: 'machine' | 'spreadsheet';
  onProfile: (profile: 'machine' | 'spreadsheet') => void;
  header: boolean;
  onHeader: (header: boolean) => void;
};

function Choices(props: ChoicesProps): ReactNode {
  const { isFixed, columns, pathText, fault, profile, header } = props;
  const { onColumns, onPathText, onProfile, onHeader } = props;
  return (
    <fieldset className={classes.choices} disabled={isFixed}>
      <Columns chosen={columns} onChange={onColumns} />
      <TextInput
        label="Fields of the enrichment, as columns of their own"
        placeholder="origin.iata, score"
        value={pathText}
        error={fault}
        disabled={isFixed}
        onChange={(event) => onPathText(event.currentTarget.value)}
      />
      <div className={classes.row}>
        <SegmentedControl
          size="xs"
          aria-label="Profile"
          value={profile}
          disabled={isFixed}
          onChange={(value) => onProfile(value === 'spreadsheet' ? value : 'machine')}
          data={[
            { value: 'machine', label: 'Machine' },
            { value: 'spreadsheet', label: 'Spreadsheet' },
          ]}
        />
        <Checkbox
          size="xs"
          label="Header line"
          checked={header}
          disabled={isFixed}
          onChange={(event) => onHeader(event.currentTarget.checked)}
        />
      </div>
      <p className={classes.note}>
        {profile === 'machine'
          ? 'Exact round trip: text quoted, numbers as sent, nothing at all for null.'
          : 'Safe to open in Excel: byte-order mark, CRLF, formulas disarmed by an apostrophe.'}
      </p>
    </fieldset>
  );
}

function Estimate(props: {
  estimate: { rows: number; bytes: number } | undefined;
  kind: string | undefined;
  source: string | undefined;
}): ReactNode {
  const { estimate, kind, source } = props;
  return (
    <>
      <p className={classes.estimate}>
        <strong>{estimate === undefined ? '…' : formatCount(estimate.rows)}</strong> rows
        <span>
          about {estimate === undefined ? '…' : formatBytes(estimate.bytes)}
          {kind === undefined ? '' : ` · kind = ${kind}`}
        </span>
      </p>
      {source !== undefined && (
        <p className={classes.warning}>
          Exports know no filter by source: the file will hold every source, not only “{source}”.
        </p>
      )}
    </>
  );
}

function Columns(props: {
  chosen: readonly string[];
  onChange: (columns: string[]) => void;
}): ReactNode {
  const { chosen, onChange } = props;
  const isAll = chosen.length === exportColumns.length;
  return (
    <fieldset className={classes.columns}>
      <legend>
        Columns
        <button type="button" onClick={() => onChange(isAll ? [] : [...exportColumns])}>
          {isAll ? 'none' : 'all'}
        </button>
      </legend>
      {exportColumns.map((name) => (
        <Checkbox
          key={name}
          size="xs"
          label={name}
          checked={chosen.includes(name)}
          onChange={(event) =>
            onChange(
              event.currentTarget.checked
                ? [...chosen, name]
                : chosen.filter((other) => other !== name),
            )
          }
        />
      ))}
    </fieldset>
  );
}

function CliLine({ line }: { line: string }): ReactNode {
  return (
    <section className={classes.line} aria-label="The same on the command line">
      <header>
        <span>The same on the command line</span>
        <CopyButton value={line} label="Copy command" />
      </header>
      <code>{line}</code>
    </section>
  );
}

function sliceText({ tenant, store, month, from, to }: SliceParams): string {
  const days = from === undefined ? month : from === to ? from : `${from} – ${to}`;
  return [tenant, store, days].filter((part) => part !== undefined).join(' › ');
}

function useFocusOnce() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    heading.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return heading;
}

/** Closing a running export only makes it small. Esc does the same as the button. */
function useClose(isRunning: boolean, makeSmall: () => void, onClose: () => void): () => void {
  const close = isRunning ? makeSmall : onClose;
  const current = useRef(close);
  current.current = close;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      if (document.querySelector('[role="dialog"][aria-modal="true"]')) return;
      event.preventDefault();
      current.current();
    };
    // Before the record's drawer hears it: the export lies on top.
    document.addEventListener('keydown', onKeyDown, { capture: true });
    return () => document.removeEventListener('keydown', onKeyDown, { capture: true });
  }, []);
  return close;
}
