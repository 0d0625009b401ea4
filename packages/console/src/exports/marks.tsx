import type { ReactNode } from 'react';
import type { ExportJob, ExportState } from '../api/types.ts';
import {
  AbandonedIcon,
  DeliveredIcon,
  DiscardedIcon,
  QueuedIcon,
  RunningIcon,
} from '../ui/icons.tsx';
import classes from './marks.module.css';
import { percentText, rowsText, stateWords } from './words.ts';

const icons: Readonly<Record<ExportState, () => ReactNode>> = {
  queued: QueuedIcon,
  running: RunningIcon,
  completed: DeliveredIcon,
  failed: AbandonedIcon,
  cancelled: DiscardedIcon,
  erased: DiscardedIcon,
};

/** The state of an export as word, shape and colour. */
export function ExportMark({ state }: { state: ExportState }): ReactNode {
  const Icon = icons[state];
  return (
    <span className={classes.state} data-state={state} title={stateWords[state]}>
      <Icon />
      {state}
    </span>
  );
}

/** A thin line that fills with the rows that are done. */
export function ProgressLine({ job }: { job: ExportJob }): ReactNode {
  return (
    <progress
      className={classes.progress}
      data-state={job.state}
      value={job.percent ?? 0}
      max={100}
      aria-label={`Progress of ${job.file_name}`}
      aria-valuetext={`${percentText(job)}, ${rowsText(job)} rows`}
    />
  );
}
