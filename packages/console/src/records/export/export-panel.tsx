import { ActionIcon, Button, Tooltip } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import type { DatasetVersion, ExportJob, ExportRequest } from '../../api/types.ts';
import type { DatasetName, ExportFormat } from '../../api/values.ts';
import { CliBlock } from '../../ui/copy-button.tsx';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { exportHref } from '../../ui/hash-state.ts';
import { CloseIcon } from '../../ui/icons.tsx';
import { exportsKey, noPlaceholder } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { sliceText } from '../../ui/words.ts';
import type { SliceParams } from '../search.ts';
import { useVersions } from '../versions/use-versions.ts';
import {
  betterWay,
  bodyOf,
  type Choices,
  choiceOf,
  type ExportChoice,
  exportLine,
  fileName,
  firstChoices,
  formatNames,
  selectionOf,
  type Way,
} from './choice.ts';
import { ColumnChoice, DatasetChoice, FormatChoice, ProfileChoice, WayChoice } from './choices.tsx';
import classes from './export.module.css';
import { ExportOutcome, ExportProgressBar } from './export-progress.tsx';
import { canPickFile, type ExportState, useExport } from './export-run.ts';

export type ExportPanelProps = {
  slice: SliceParams;
  kind: string | undefined;
  /** The table's filter by source, which exports do not have: the panel says so. */
  source: string | undefined;
  /** The table's filter by dataset. In the panel it can be changed. */
  dataset?: DatasetName | undefined;
  /** First and last day of the node, which the command line needs. */
  days: [string, string] | null;
  onClose: () => void;
};

/**
 * The panel that exports a slice as a file: how large it is, what goes into it, and whether the page downloads it or a
 * job makes it.
 */
export function ExportPanel(props: ExportPanelProps): ReactNode {
  const { state, start, cancel, reset } = useExport();
  const job = useJob(props.onClose);
  const isRunning = state.step === 'running' || state.step === 'starting';
  const isDone = state.step === 'done' || state.step === 'downloading';
  const [isSmall, setSmall] = useState(false);
  const { slice, kind, source, days } = useHeld(props, isRunning || job.isPending);
  useWhenChanged(JSON.stringify([slice, kind]), () => {
    reset();
    job.reset();
  });
  const [choices, setChoices] = useState<Choices>({ ...firstChoices, dataset: props.dataset });
  const set = (change: Partial<Choices>) => setChoices((before) => ({ ...before, ...change }));
  const listed = useVersions(slice.tenant, true);
  const versions = listed.data?.data.filter(isUsable) ?? [];
  const { choice, byDefault, fault } = choiceOf({ slice, kind, choices, versions });
  const estimate = useEstimate(choice);
  const failure = useFailure(estimate);
  const better = betterWay(estimate.data?.rows);
  const way = choices.way ?? better;
  const close = useClose(isRunning, () => setSmall(true), props.onClose);
  if (isSmall) return <SmallExport state={state} onShow={() => setSmall(false)} />;
  const common = { isFixed: isRunning || isDone || job.isPending, choices, set };
  const { format, compression, header } = choices;
  const order = { format, compression, hasHeader: header, body: bodyOf(choice) };
  return (
    <aside className={classes.panel} data-drawer aria-labelledby="export-title">
      <Head slice={slice} isRunning={isRunning} onClose={close} />
      <div className={classes.body}>
        {failure !== null && estimate.data === undefined ? (
          <FailurePanel error={failure} onRetry={() => void estimate.refetch()} />
        ) : (
          <Estimate estimate={estimate.data} choice={choice} source={source} />
        )}
        <fieldset className={classes.choices} disabled={common.isFixed}>
          <FormatChoice {...common} />
          <DatasetChoice {...common} versions={versions} isLacking={listed.isLoadingError} />
          <ColumnChoice {...common} byDefault={byDefault} fault={fault} />
          {format === 'csv' && <ProfileChoice {...common} />}
        </fieldset>
        <CliBlock title="The same on the command line" line={exportLine(choice, days, way)} />
      </div>
      <footer className={classes.foot}>
        {!isRunning && !isDone && <WayChoice {...common} way={way} isManyRows={better === 'job'} />}
        <Foot
          state={isRunning || isDone || way === 'now' ? state : jobState(job.error)}
          way={way}
          isBusy={job.isPending}
          canStart={fault === null && choice.columns?.length !== 0 && estimate.data !== undefined}
          onStart={() =>
            way === 'job'
              ? job.mutate({ format, body: order.body })
              : void start({ ...order, fileName: fileName(choice) })
          }
          onCancel={cancel}
          onReset={reset}
          onClose={props.onClose}
        />
      </footer>
    </aside>
  );
}

function Head(props: { slice: SliceParams; isRunning: boolean; onClose: () => void }): ReactNode {
  const { slice, isRunning, onClose } = props;
  const heading = useFocusOnce();
  return (
    <header className={classes.head}>
      <h2 id="export-title" ref={heading} tabIndex={-1}>
        EXPORT <span>{sliceText(slice)}</span>
      </h2>
      <Tooltip label={isRunning ? 'Make small; the export goes on' : 'Close (Esc)'}>
        <ActionIcon aria-label={isRunning ? 'Make small' : 'Close export'} onClick={onClose}>
          <CloseIcon />
        </ActionIcon>
      </Tooltip>
    </header>
  );
}

/** Whether a version may be exported: not if it could not be counted, since then nothing proves the file. */
function isUsable({ state }: DatasetVersion): boolean {
  return state !== 'failed';
}

type Sizes = { rows: number; bytes: number; files: Record<ExportFormat, number> };

/** Reads how large the export would be. An estimate of another choice is never shown. */
function useEstimate(choice: ExportChoice) {
  const selection = selectionOf(choice);
  return useQuery({
    queryKey: ['records', 'estimate', selection],
    placeholderData: noPlaceholder,
    queryFn: ({ signal }) => api.get<Sizes>('/exports/estimate', selection, signal),
  });
}

/** Creates an export job, shows a message with a link to it, and closes the panel. */
function useJob(onClose: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ format, body }: { format: ExportFormat; body: ExportRequest }) =>
      api.post<ExportJob>(`/exports/${format}`, body, { headers: { prefer: 'respond-async' } }),
    onSuccess: ({ id, file_name }) => {
      const href = exportHref(id);
      notify({ text: `Export queued: ${file_name}`, href, linkText: 'follow it' });
      void client.invalidateQueries({ queryKey: exportsKey });
      onClose();
    },
  });
}

function jobState(error: Error | null): ExportState {
  return error === null ? { step: 'ready' } : { step: 'failed', error };
}

/** A running export, made small: its progress, and a button that opens the panel again. */
function SmallExport(props: { state: ExportState; onShow: () => void }): ReactNode {
  const { state } = props;
  return (
    <aside className={classes.small} aria-label="Export">
      <ExportProgressBar state={state} />
      {state.step === 'failed' && <span role="status">The export failed.</span>}
      {state.step === 'cancelled' && <span role="status">Cancelled</span>}
      <Button size="compact-xs" onClick={props.onShow}>
        Show
      </Button>
    </aside>
  );
}

type FootProps = {
  state: ExportState;
  way: Way;
  isBusy: boolean;
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
    <>
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
          <Button variant="filled" disabled={!canStart} loading={props.isBusy} onClick={onStart}>
            {startText(props.way)}
          </Button>
        )}
      </div>
    </>
  );
}

function startText(way: Way): string {
  if (way === 'job') return 'START the job';
  return canPickFile() ? 'START: choose a file' : 'START download';
}

/**
 * How many rows the file will have, and about how large it will be. It warns when the table has a filter that exports
 * lack.
 */
function Estimate(props: {
  estimate: Sizes | undefined;
  choice: ExportChoice;
  source: string | undefined;
}): ReactNode {
  const { estimate, source } = props;
  const { format, compression, kind, version } = props.choice;
  const isZipped = format !== 'parquet' && compression !== 'none';
  return (
    <>
      <p className={classes.estimate}>
        <strong>{estimate === undefined ? '…' : formatCount(estimate.rows)}</strong> rows
        <span>
          about {estimate === undefined ? '…' : formatBytes(estimate.files[format])} as{' '}
          {formatNames[format]}
          {isZipped && ` before ${compression}`}
          {kind !== undefined && version === undefined && ` · kind = ${kind}`}
        </span>
      </p>
      {source !== undefined && version === undefined && (
        <p className={classes.warning}>
          Exports know no filter by source: the file will hold every source, not only “{source}”.
        </p>
      )}
    </>
  );
}

/**
 * The latest value, or while `isHeld` the value from before. So a running export stays as it is while other nodes are
 * looked at.
 */
function useHeld<T>(value: T, isHeld: boolean): T {
  const held = useRef(value);
  if (!isHeld) held.current = value;
  return held.current;
}

/**
 * Calls `act` when the key changes: the outcome of an export belongs to its slice, so the panel begins anew with
 * another one.
 */
function useWhenChanged(key: string, act: () => void): void {
  const before = useRef(key);
  const current = useRef(act);
  current.current = act;
  useEffect(() => {
    if (before.current === key) return;
    before.current = key;
    current.current();
  }, [key]);
}

/** Moves the focus to the heading when the panel opens, and back when it closes. */
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

/** Closing the panel while an export runs only makes it small. Esc does the same as the button. */
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
    // Capturing gets the key before the record's drawer does, because the export lies on top of it.
    document.addEventListener('keydown', onKeyDown, { capture: true });
    return () => document.removeEventListener('keydown', onKeyDown, { capture: true });
  }, []);
  return close;
}
