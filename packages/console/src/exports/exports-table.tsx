import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import type { ExportJob } from '../api/types.ts';
import type { ExportState } from '../api/values.ts';
import { formatBytes } from '../ui/format.ts';
import {
  AbandonedIcon,
  DeliveredIcon,
  DiscardedIcon,
  QueuedIcon,
  RunningIcon,
} from '../ui/icons.tsx';
import { CutText, Moment } from '../ui/marks.tsx';
import { type Column, RowsTable } from '../ui/table/rows-table.tsx';
import classes from './exports.module.css';
import { type Cancelling, fileHref } from './use-exports.ts';
import { isOpen, paceText, percentText, rowsText, stateWords } from './words.ts';

const keyOf = ({ id }: ExportJob) => id;

/** The list of export jobs, latest first. */
export function ExportsTable(props: {
  rows: readonly ExportJob[];
  /** Id of the job that the drawer shows. */
  open: string | undefined;
  place: string;
  isWaiting: boolean;
  cancelling: Cancelling;
  onOpen: (id: string) => void;
}): ReactNode {
  const { cancelling } = props;
  const columns = useMemo(() => columnsFor(cancelling), [cancelling]);
  return (
    <RowsTable
      label="Export jobs"
      columns={columns}
      groups={[{ id: 'all', rows: props.rows }]}
      keyOf={keyOf}
      className={classes.table}
      open={props.open}
      place={props.place}
      isWaiting={props.isWaiting}
      onOpen={props.onOpen}
    />
  );
}

/** The columns of the list. They depend on the cancellations, because a row shows that its own is under way. */
function columnsFor(cancelling: Cancelling): readonly Column<ExportJob>[] {
  return [
    ...factColumns,
    {
      name: 'ACTION',
      className: classes.action,
      cell: (job, tabIndex) => <Action job={job} tabIndex={tabIndex} cancelling={cancelling} />,
    },
  ];
}

const factColumns: readonly Column<ExportJob>[] = [
  {
    name: 'STATE',
    className: classes.state,
    cell: ({ state }) => <ExportMark state={state} />,
  },
  {
    name: 'FILE',
    cell: ({ file_name }) => <CutText text={file_name} />,
  },
  {
    name: 'TENANT',
    className: classes.tenant,
    cell: ({ tenant }) => <CutText text={tenant} />,
  },
  { name: 'FORMAT', className: classes.format, cell: ({ format }) => format },
  {
    name: 'ROWS',
    className: classes.rows,
    cell: (job) => (
      <span className={classes.progress} title={rowsText(job)}>
        <span>{rowsText(job)}</span>
        {job.state !== 'completed' && <ProgressLine job={job} />}
      </span>
    ),
  },
  { name: 'DONE', className: classes.percent, cell: percentText },
  {
    name: 'RATE · LEFT',
    className: classes.pace,
    cell: (job) => <Quiet text={isOpen(job) ? paceText(job) : '–'} />,
  },
  {
    name: 'SIZE',
    className: classes.size,
    cell: ({ bytes }) => <Quiet text={bytes === 0 ? '–' : formatBytes(bytes)} />,
  },
  {
    name: 'BY',
    className: classes.by,
    cell: ({ requested_by }) => <CutText text={requested_by} />,
  },
  { name: 'ASKED', className: classes.when, cell: ({ created_at }) => <Moment at={created_at} /> },
  { name: 'EXPIRES', className: classes.expires, cell: (job) => <Expiry job={job} /> },
];

function Quiet({ text }: { text: string }): ReactNode {
  return text === '–' ? <span className={classes.muted}>–</span> : text;
}

/** When the file of a completed export will be removed, or that it is gone. */
function Expiry({ job }: { job: ExportJob }): ReactNode {
  if (job.state !== 'completed') return <Quiet text="–" />;
  return job.has_file ? (
    <Moment at={job.expires_at} />
  ) : (
    <span className={classes.muted}>gone</span>
  );
}

/** The button of a row: CANCEL while the job is open, DOWNLOAD once there is a file. */
function Action(props: { job: ExportJob; tabIndex: number; cancelling: Cancelling }): ReactNode {
  const { job, tabIndex, cancelling } = props;
  if (isOpen(job)) {
    return (
      <Button
        size="compact-xs"
        tabIndex={tabIndex}
        loading={cancelling.ids.has(job.id)}
        onClick={() => cancelling.cancel(job)}
      >
        CANCEL
        <span className="visually-hidden"> {job.file_name}</span>
      </Button>
    );
  }
  return job.has_file ? <DownloadLink job={job} tabIndex={tabIndex} isSmall /> : null;
}

/** A link to the file. It is a plain link, so that the browser does the download by itself, and can resume it. */
export function DownloadLink(props: {
  job: ExportJob;
  tabIndex?: number;
  isSmall?: boolean;
}): ReactNode {
  const { job, tabIndex = 0, isSmall = false } = props;
  return (
    <Button
      component="a"
      className={classes.link}
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

const icons: Readonly<Record<ExportState, () => ReactNode>> = {
  queued: QueuedIcon,
  running: RunningIcon,
  completed: DeliveredIcon,
  failed: AbandonedIcon,
  cancelled: DiscardedIcon,
  erased: DiscardedIcon,
};

/** The state of an export as a word with a shape and a colour. */
export function ExportMark({ state }: { state: ExportState }): ReactNode {
  const Icon = icons[state];
  return (
    <span className={classes.mark} data-state={state} title={stateWords[state]}>
      <Icon />
      {state}
    </span>
  );
}

/** A thin progress line: the rows that are done, out of all rows. */
export function ProgressLine({ job }: { job: ExportJob }): ReactNode {
  return (
    <progress
      className={classes.progressLine}
      data-state={job.state}
      value={job.percent ?? 0}
      max={100}
      aria-label={`Progress of ${job.file_name}`}
      aria-valuetext={`${percentText(job)}, ${rowsText(job)} rows`}
    />
  );
}
