import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ExportJob } from '../api/types.ts';
import type { ExportState } from '../api/values.ts';
import { CancelJob } from '../ui/cancel-job.tsx';
import { JobMark } from '../ui/job-line.tsx';
import { Moment } from '../ui/marks.tsx';
import type { Column } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import classes from './exports.module.css';
import { fileHref } from './use-exports.ts';
import { isOpen, paceText, percentText, rowsText, stateWords } from './words.ts';

const column = columnsOf<ExportJob>();

export const exportColumns: readonly Column<ExportJob>[] = [
  column.own('state', 'STATE', 116, {
    card: 'note',
    cell: ({ state }) => <ExportMark state={state} />,
  }),
  column.text('file_name', 'FILE', 224, { isMain: true, card: 'title' }),
  column.text('tenant', 'TENANT', 72, { rank: 3 }),
  column.own('format', 'FORMAT', 76, { rank: 2 }),
  column.own('progress', 'PROGRESS', 208, {
    card: 'line',
    cell: (job) => <Progress job={job} />,
    value: ({ rows_done }) => rows_done,
  }),
  column.bytes('bytes', 'SIZE', 76, {
    rank: 0,
    card: 'note',
    value: ({ bytes }) => (bytes === 0 ? null : bytes),
  }),
  column.text('requested_by', 'BY', 96, {
    rank: 5,
    value: ({ schedule, requested_by }) => schedule?.name ?? requested_by,
  }),
  column.moment('created_at', 'ASKED', 88, { rank: 1, card: 'note' }),
  column.own('expires_at', 'EXPIRES', 80, { rank: 4, cell: (job) => <Expiry job={job} /> }),
  column.action(116, (job, tabIndex) => <Action job={job} tabIndex={tabIndex} />),
];

/** How far the job is: its rows, its rate and the time left; while it is under way, with a line. */
function Progress({ job }: { job: ExportJob }): ReactNode {
  const pace = paceText(job);
  return (
    <span className={classes.progress}>
      <span className="flex between gap-8 clip">
        <span>{rowsText(job)} rows</span>
        {job.state !== 'completed' && (
          <span className="muted">
            {isOpen(job) && pace !== '–' ? `${percentText(job)} · ${pace}` : percentText(job)}
          </span>
        )}
      </span>
      {job.state !== 'completed' && <ProgressLine job={job} />}
    </span>
  );
}

/** When the file of a completed export will be removed, or that it is gone. */
function Expiry({ job }: { job: ExportJob }): ReactNode {
  if (job.state !== 'completed') return <span className="muted">–</span>;
  return job.has_file ? <Moment at={job.expires_at} /> : <span className="muted">gone</span>;
}

/** The button of a row: CANCEL while the job is open, DOWNLOAD once there is a file. */
function Action({ job, tabIndex }: { job: ExportJob; tabIndex: number }): ReactNode {
  if (isOpen(job)) return <CancelExport job={job} tabIndex={tabIndex} isSmall />;
  return job.has_file ? <DownloadLink job={job} tabIndex={tabIndex} isSmall /> : null;
}

/** What a button of an export needs that stands in a row, or in the drawer. */
type ButtonProps = { job: ExportJob; tabIndex?: number; isSmall?: boolean };

/** CANCEL, which asks first. */
export function CancelExport({ job, ...look }: ButtonProps): ReactNode {
  const { id, tenant, file_name: name } = job;
  const summary = `Exports records of ${tenant} to ${name}.`;
  return <CancelJob job={{ id, kind: 'export', name, summary }} {...look} />;
}

/** A link to the file. It is a plain link, so that the browser does the download by itself, and can resume it. */
export function DownloadLink({ job, tabIndex = 0, isSmall = false }: ButtonProps): ReactNode {
  return (
    <Button
      component="a"
      href={fileHref(job.id)}
      download={job.file_name}
      tabIndex={tabIndex}
      {...(isSmall ? { size: 'compact-xs' } : { variant: 'filled' })}
    >
      DOWNLOAD
      <span className="visually-hidden"> {job.file_name}</span>
    </Button>
  );
}

/** The state of an export as a word with a shape and a colour. */
export function ExportMark({ state }: { state: ExportState }): ReactNode {
  return <JobMark state={state} title={stateWords[state]} />;
}

/** A thin progress line: the rows that are done, out of all rows. */
export function ProgressLine({ job }: { job: ExportJob }): ReactNode {
  return (
    <progress
      className={classes.line}
      data-state={job.state}
      value={job.percent ?? 0}
      max={100}
      aria-label={`Progress of ${job.file_name}`}
      aria-valuetext={`${percentText(job)}, ${rowsText(job)} rows`}
    />
  );
}
