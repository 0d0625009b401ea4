import { Button } from '@mantine/core';
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import type { DatasetVersion, ExportJob, ExportRequest } from '../../api/types.ts';
import { cutBySheet, type DatasetName, type ExportFormat } from '../../api/values.ts';
import { useAct } from '../../ui/act.ts';
import { CliBlock } from '../../ui/copy-button.tsx';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { Panel } from '../../ui/panel.tsx';
import { exportHref } from '../../ui/panel-place.ts';
import { exportsKey, useRead } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { sliceText } from '../../ui/words.ts';
import { PageDays, type PageDaysProps } from '../page-days.tsx';
import type { SliceParams } from '../search.ts';
import { useVersion, useVersions } from '../versions/use-versions.ts';
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
  isForSheet,
  isJobOnly,
  isOfGroups,
  isTyped,
  isUncounted,
  selectionOf,
  type Way,
  whereOf,
} from './choice.ts';
import { ColumnChoice, DatasetChoice, FormatChoice, ProfileChoice, WayChoice } from './choices.tsx';
import classes from './export.module.css';
import { ExportOutcome, ExportProgressBar } from './export-progress.tsx';
import { canPickFile, type ExportState, hasEnded, isUnderWay, useExport } from './export-run.ts';
import { FirstLines } from './first-lines.tsx';
import { faultAt, LinesChoice } from './lines-choice.tsx';
import { TypedColumns } from './typed-columns.tsx';

type ExportPanelProps = {
  /** Whether the panel is open. If not, a running export goes on, made small. */
  isOpen: boolean;
  /** What is chosen; null when nothing is. */
  slice: SliceParams | null;
  kind: string | undefined;
  /** The table's filter by what is in the records. */
  where: string | undefined;
  /** The table's filter by source, which exports do not have: the panel says so. */
  source: string | undefined;
  /** The table's filter by dataset. In the panel it can be changed. */
  dataset?: DatasetName | undefined;
  /** The dataset version to export instead of the slice. */
  versionId?: string | undefined;
  /** First and last day of the node, which the command line needs. */
  days: [string, string] | null;
  /** The days are those of the page. */
  pageDays: PageDaysProps;
  /** Called with the id of another version, or undefined for none. */
  onVersion: (id: string | undefined) => void;
  /** Tells whether an export runs or has ended: then the panel must stay, although it is closed. */
  onKept: (isKept: boolean) => void;
  /** Called with the id of the version that is exported, or undefined for none. */
  onShow: (versionId: string | undefined) => void;
  onClose: () => void;
};

/** The panel that exports a slice: how large it is, what goes into the file, and who makes it: the page, or a job. */
export function ExportPanel(props: ExportPanelProps): ReactNode {
  const { isOpen, onKept, onClose } = props;
  const run = useExport();
  const { state, reset } = run;
  const isRunning = isUnderWay(state);
  const [choices, setChoices] = useState<Choices>({ ...firstChoices, dataset: props.dataset });
  const isKept = state.step !== 'ready';
  const held = useHeld(props, isKept || !isOpen || props.slice === null);
  const { slice, versionId } = held;
  const chosen = [props.slice, props.kind, props.where, props.versionId];
  useWhenChanged(JSON.stringify(chosen), () => isOpen && !isRunning && reset());
  useWhenChanged(String(isOpen), () => !isOpen && !isRunning && reset());
  const versionName = useVersion(isOpen ? versionId : undefined).data?.name ?? '';
  useEffect(() => onKept(isKept), [onKept, isKept]);
  if (!isOpen) {
    const onShow = () => props.onShow(versionId);
    return isKept && <SmallExport state={state} onShow={onShow} onClose={reset} />;
  }
  if (slice === null) return null;
  const set = (change: Partial<Choices>) => {
    const { versionId: next, ...rest } = { versionId, ...change };
    setChoices((before) => ({ ...before, ...rest }));
    if (next !== versionId) props.onVersion(next);
  };
  return (
    <Panel
      kind="EXPORT"
      title={versionId === undefined ? sliceText(slice) : `${slice.tenant} ${versionName}`}
      id="export"
      closeLabel={isRunning ? 'Make small' : 'Close export'}
      onClose={onClose}
    >
      <Order
        {...held}
        slice={slice}
        choices={{ ...choices, versionId }}
        set={set}
        run={run}
        onClose={onClose}
      />
    </Panel>
  );
}

type OrderProps = Pick<
  ExportPanelProps,
  'kind' | 'where' | 'source' | 'days' | 'pageDays' | 'onClose'
> & {
  slice: SliceParams;
  choices: Choices;
  set: (change: Partial<Choices>) => void;
  run: ReturnType<typeof useExport>;
};

/** What is exported and how, with the button that starts it. */
function Order(props: OrderProps): ReactNode {
  const { slice, kind, where, choices, run } = props;
  const { state } = run;
  const job = useJob(props.onClose);
  useWhenChanged(JSON.stringify([slice, kind, where, choices.versionId]), job.reset);
  const isRunning = isUnderWay(state);
  const isDone = hasEnded(state);
  const { versions, isLacking, lost, isAwaited } = useUsableVersions(slice, choices.versionId);
  const { choice, byDefault, ...faults } = choiceOf({ slice, kind, where, choices, versions });
  const estimate = useEstimate(choice, !isAwaited && !isUncounted(choice));
  const failure = useFailure(estimate) ?? lost;
  const better = betterWay(estimate.data?.rows);
  // A template that is still being written would make a job, too.
  const isOnlyJob = isJobOnly(choice) || faults.templateFault !== null;
  const way = isOnlyJob ? 'job' : (choices.way ?? better);
  const common = { isFixed: isRunning || isDone || job.isPending, choices, set: props.set };
  const { format, compression, header } = choices;
  const hasLines =
    !isAwaited &&
    faults.fault === null &&
    choice.columns?.length !== 0 &&
    !isTyped(choice) &&
    !(format === 'ndjson' && choices.lines !== 'records');
  const order = { format, compression, hasHeader: header, body: bodyOf(choice) };
  return (
    <>
      <div className={`scroll ${classes.body}`}>
        {failure !== null && estimate.data === undefined ? (
          <FailurePanel error={failure} onRetry={() => void estimate.refetch()} />
        ) : (
          <Estimate
            estimate={isAwaited ? undefined : estimate.data}
            choice={choice}
            source={props.source}
          />
        )}
        <fieldset className="stack gap-12" disabled={common.isFixed}>
          {choices.versionId === undefined && (
            <PageDays label="Days" hasQuarters {...props.pageDays} />
          )}
          <FormatChoice {...common} />
          {isTyped(choice) && <TypedColumns choice={choice} isKnown={!isAwaited} />}
          <DatasetChoice {...common} versions={versions} isLacking={isLacking} />
          {format === 'ndjson' && (
            <LinesChoice
              {...common}
              choice={choice}
              isKnown={!isAwaited}
              fault={faults.templateFault ?? faultAt(job.error, '/template')}
            />
          )}
          {!(format === 'ndjson' && choices.lines !== 'records') && (
            <ColumnChoice {...common} byDefault={byDefault} fault={faults.fault} />
          )}
          {format === 'csv' && <ProfileChoice {...common} />}
          {hasLines && <FirstLines choice={choice} />}
        </fieldset>
        {!isAwaited && (
          <CliBlock
            title="The same on the command line"
            line={exportLine(choice, props.days, way)}
          />
        )}
      </div>
      <footer className={`flex-none line-over ${classes.foot}`}>
        {!isRunning && !isDone && !isOnlyJob && (
          <WayChoice {...common} way={way} isManyRows={better === 'job'} />
        )}
        <Foot
          state={isRunning || isDone || way === 'now' ? state : jobState(job.error)}
          way={way}
          isBusy={job.isPending}
          canStart={
            !isAwaited &&
            faults.fault === null &&
            faults.templateFault === null &&
            choice.columns?.length !== 0 &&
            (isUncounted(choice) || estimate.data !== undefined)
          }
          onStart={() =>
            way === 'job'
              ? job.mutate({ format, body: order.body })
              : void run.start({ ...order, fileName: fileName(choice) })
          }
          onCancel={run.cancel}
          onReset={run.reset}
          onClose={props.onClose}
        />
      </footer>
    </>
  );
}

/**
 * The versions of the tenant that may be exported, with the chosen one, which need not be among those listed. While it
 * is not known (`isAwaited`), nothing may be exported: without it the export would be of other records.
 */
function useUsableVersions(slice: SliceParams, chosenId: string | undefined) {
  const listed = useVersions(slice.tenant, true);
  const chosen = useVersion(chosenId);
  const rows = listed.data?.data ?? [];
  const isListed = rows.some(({ id }) => id === chosenId);
  const all = chosen.data === undefined || isListed ? rows : [chosen.data, ...rows];
  const versions = all.filter((each) => isUsable(each) && each.tenant === slice.tenant);
  const isAwaited = chosenId !== undefined && !versions.some(({ id }) => id === chosenId);
  const lost = useFailure(chosen);
  return { versions, isLacking: listed.isLoadingError, lost: isAwaited ? lost : null, isAwaited };
}

/** Whether a version may be exported: not if it could not be counted, since then nothing proves the file. */
function isUsable({ state }: DatasetVersion): boolean {
  return state !== 'failed';
}

type Sizes = {
  rows: number;
  bytes: number;
  files: Record<ExportFormat, number>;
  long_records: number | null;
};

/** Reads how large the export would be, once the choice is known. An estimate of another choice is never shown. */
function useEstimate(choice: ExportChoice, isKnown: boolean) {
  const selection = {
    ...selectionOf(choice),
    ...(isForSheet(choice) && { profile: choice.profile }),
  };
  return useRead<Sizes>(['records', 'estimate', selection], '/exports/estimate', {
    params: selection,
    isWanted: isKnown,
    isOne: true,
    everyMillis: null,
  });
}

/** Creates an export job, shows a message with a link to it, and closes the panel. */
function useJob(onClose: () => void) {
  return useAct({
    call: ({ format, body }: { format: ExportFormat; body: ExportRequest }) =>
      api.post<ExportJob>(`/exports/${format}`, body, { headers: { prefer: 'respond-async' } }),
    onDone: ({ id, file_name }) => {
      const href = exportHref(id);
      notify({ text: `Export queued: ${file_name}`, href, linkText: 'follow it' });
      onClose();
    },
    changes: exportsKey,
  });
}

function jobState(error: Error | null): ExportState {
  return error === null ? { step: 'ready' } : { step: 'failed', error };
}

/** An export whose panel is closed: its progress with a button that opens the panel again, and then how it ended. */
function SmallExport(props: {
  state: ExportState;
  onShow: () => void;
  onClose: () => void;
}): ReactNode {
  const { state } = props;
  const isRunning = isUnderWay(state);
  return (
    <aside className={`float row gap-12 ${classes.small}`} aria-label="Export">
      {isRunning && <ExportProgressBar state={state} />}
      <ExportOutcome state={state} />
      <Button size="compact-xs" onClick={isRunning ? props.onShow : props.onClose}>
        {isRunning ? 'Show' : 'Close'}
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
  const isRunning = isUnderWay(state);
  const isDone = hasEnded(state);
  return (
    <>
      <ExportProgressBar state={state} />
      <ExportOutcome state={state} />
      <div className="flex end gap-8">
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
  return canPickFile() ? 'SAVE AS…' : 'START download';
}

/** How large the file will be. It warns of a filter that exports lack, and of what a spreadsheet would cut. */
function Estimate(props: {
  estimate: Sizes | undefined;
  choice: ExportChoice;
  source: string | undefined;
}): ReactNode {
  const { estimate, source } = props;
  const { format, compression, kind, version, split, header } = props.choice;
  const where = whereOf(props.choice);
  const isGrouped = isOfGroups(props.choice);
  const cut =
    estimate !== undefined && isForSheet(props.choice)
      ? cutBySheet({ ...estimate, hasHeader: header })
      : null;
  const isZipped = format !== 'parquet' && compression !== 'none';
  return (
    <>
      {where !== undefined && (
        <p className="below-12">
          The records that fit <span className="mono">{where}</span>. A job counts them first, and
          proves its file against that.
        </p>
      )}
      {isGrouped && (
        <p className="below-12">
          The {split} records of {version?.name}, whose groups are never divided: which they are,
          only reading all records tells. A job counts them first, and proves its file against that.
        </p>
      )}
      {where === undefined && !isGrouped && (
        <p className={`flex baseline gap-6 below-12 ${classes.estimate}`}>
          <strong>{estimate === undefined ? '…' : formatCount(estimate.rows)}</strong> rows
          <span>
            about {estimate === undefined ? '…' : formatBytes(estimate.files[format])} as{' '}
            {formatNames[format]}
            {isZipped && ` before ${compression}`}
            {kind !== undefined && version === undefined && ` · kind = ${kind}`}
          </span>
        </p>
      )}
      {source !== undefined && version === undefined && (
        <p className="warning below-12">
          Exports know no filter by source: the file will hold every source, not only “{source}”.
        </p>
      )}
      {cut !== null && <p className="warning below-12">{cut}</p>}
    </>
  );
}

/** The latest value, or while `isHeld` the one before: an export, and how it ended, stays while other nodes are looked at. */
function useHeld<T>(value: T, isHeld: boolean): T {
  const held = useRef(value);
  if (!isHeld) held.current = value;
  return held.current;
}

/** Calls `act` when the key changes: once an export has ended, the panel begins anew with the next node that is chosen. */
function useWhenChanged(key: string, act: () => void): void {
  const before = useRef(key);
  const changed = useEffectEvent(act);
  useEffect(() => {
    if (before.current === key) return;
    before.current = key;
    changed();
  }, [key]);
}
