import type { ListedJob } from '../api/types.ts';
import { workStates } from '../api/values.ts';
import { formatBytes, formatCount } from '../ui/format.ts';
import type { ShownState } from '../ui/job-line.tsx';
import { countOf } from '../ui/words.ts';

/** What each state means, in a sentence. */
export const stateWords: Readonly<Record<ShownState, string>> = {
  queued: 'waits for its turn',
  running: 'is being done',
  waiting: 'goes on by itself',
  paused: 'goes on when somebody resumes it',
  completed: 'done to its end',
  'with faults': 'done to its end, but not all of it is right',
  failed: 'could not be finished',
  cancelled: 'stopped before its end',
};

/** The state of a job as it is shown. */
export function shownState({ state, has_faults }: ListedJob): ShownState {
  return state === 'completed' && has_faults ? 'with faults' : state;
}

/** Whether a job has not ended. */
export function isOpen({ state }: Pick<ListedJob, 'state'>): boolean {
  return workStates.some((open) => open === state);
}

/** How often a job or the list is read while a job is queued or running. */
export const followMillis = 2_000;

/** Whether a job may change at any moment, so that it is read often. One that waits or is paused may do so for days. */
export function isMoving({ state }: Pick<ListedJob, 'state'>): boolean {
  return state === 'queued' || state === 'running';
}

/** Whole percents, of which 100 means that it is completed; null while nobody knows how much there is. */
export function percentText({ progress, state }: Pick<ListedJob, 'progress' | 'state'>) {
  if (state === 'completed') return '100 %';
  if (!progress?.total) return null;
  return `${Math.min(99, Math.floor((100 * progress.done) / progress.total))} %`;
}

const one = { records: 'record', deliveries: 'delivery' } as const;

/** How far a job is: `364,120 of 512,991 records`. Null where its kind does not tell. */
export function progressText({ progress }: Pick<ListedJob, 'progress'>): string | null {
  if (progress === null) return null;
  const { done, total, unit } = progress;
  const most = Math.max(done, total ?? 0);
  const all = unit === 'bytes' ? formatBytes(most) : countOf(most, one[unit], unit);
  if (done === most) return all;
  return `${unit === 'bytes' ? formatBytes(done) : formatCount(done)} of ${all}`;
}
