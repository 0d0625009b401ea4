import { ActionIcon } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ExportState, JobState, ScheduleState } from '../api/values.ts';
import {
  AbandonedIcon,
  CloseIcon,
  DeliveredIcon,
  DiscardedIcon,
  PendingIcon,
  QueuedIcon,
  RunningIcon,
  WarningIcon,
} from './icons.tsx';
import classes from './jobs.module.css';

/** The state of a job as it is shown. One with faults went on to its end, but not all of it is right. */
export type ShownState = JobState | 'with faults';

type State = ShownState | ExportState | ScheduleState;

const marks: Readonly<Record<State, readonly [icon: () => ReactNode, tone: string]>> = {
  queued: [QueuedIcon, 'data'],
  running: [RunningIcon, 'data'],
  waiting: [QueuedIcon, 'data'],
  paused: [PendingIcon, 'warn'],
  completed: [DeliveredIcon, 'ok'],
  'with faults': [WarningIcon, 'danger'],
  failed: [AbandonedIcon, 'danger'],
  failing: [WarningIcon, 'danger'],
  cancelled: [DiscardedIcon, 'muted'],
  erased: [DiscardedIcon, 'muted'],
};

/** The state of a job as a word with a shape and a colour. The title says what it means. */
export function JobMark({ state, title }: { state: State; title: string }): ReactNode {
  const [Icon, tone] = marks[state];
  return (
    <span className={`mark middle ${tone}`} title={title}>
      <Icon />
      {state}
    </span>
  );
}

/** The lines of jobs that run or have just ended. */
export function JobStrip({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <section className={`flex-none line-under ${classes.strip}`} aria-label={label}>
      {children}
    </section>
  );
}

/** One line about a job: a word for its state, what it does, how far it is, and what can be done with it. */
export function JobLine(props: {
  state: string;
  /** Whether the job has not ended: then the line cannot be removed. */
  isOpen: boolean;
  /** The state as a word, where it is another one than that. */
  word?: string;
  what: string;
  /** What the bar shows, for assistive technology. */
  label: string;
  value: number;
  max: number;
  /** How far it is, in words. */
  count: ReactNode;
  actions: ReactNode;
  onDismiss: () => void;
}): ReactNode {
  const { state, isOpen, value, max } = props;
  return (
    <div className={`row wrap ${classes.job}`} data-state={state}>
      <strong className={classes.state}>
        {props.word ?? (state === 'completed' ? 'done' : state)}
      </strong>
      <span className="muted">{props.what}</span>
      {/* One that had nothing to do has a full bar once it has ended. */}
      <progress
        value={max === 0 && !isOpen ? 1 : value}
        max={Math.max(1, max)}
        aria-label={props.label}
      />
      <span className={`right ${classes.count}`}>{props.count}</span>
      <span className={`flex end gap-4 ${classes.buttons}`}>
        {props.actions}
        {!isOpen && (
          <ActionIcon size={24} aria-label="Close this line" onClick={props.onDismiss}>
            <CloseIcon />
          </ActionIcon>
        )}
      </span>
    </div>
  );
}
