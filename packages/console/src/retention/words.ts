import type { RetentionMove } from '../api/types.ts';
import {
  calledOffCodes,
  type MoveKind,
  type MoveState,
  type ProblemKind,
  type Transition,
  transitions,
} from '../api/values.ts';
import { formatBytes } from '../ui/format.ts';

/** The state of one step. `passed`: there was nothing to do for it, as a deletion copies nothing. */
type StepState = 'reached' | 'passed' | 'failed' | 'open';
/** One step of a move, and when it was reached; null when it was not. */
export type Step = {
  readonly name: Transition;
  readonly state: StepState;
  readonly at: string | null;
};

type Timed = Pick<RetentionMove, 'state' | 'failed_in' | `${Transition}_at`>;

/** The steps of a move. A move that failed did so on its way to the first step that it did not reach. */
export function stepsOf(move: Timed): Step[] {
  const times = transitions.map((name) => move[`${name}_at`]);
  const last = lastReached(move, times);
  return transitions.map((name, index) => {
    const at = times[index] ?? null;
    if (index <= last) return { name, at, state: at === null ? 'passed' : 'reached' };
    return { name, at, state: move.state === 'failed' && index === last + 1 ? 'failed' : 'open' };
  });
}

function lastReached({ state, failed_in }: Timed, times: readonly (string | null)[]): number {
  if (state !== 'failed') return transitions.indexOf(state);
  if (failed_in !== null && failed_in !== 'failed') return transitions.indexOf(failed_in);
  return times.findLastIndex((at) => at !== null);
}

/** What each state means for the data, in a sentence. */
export const stateWords: Readonly<Record<MoveState, string>> = {
  planned: 'about to be copied',
  copied: 'written to the object store, not yet read back',
  verified: 'read back and equal; reads still use the source',
  switched: 'reads use the result; what it replaces waits to be removed',
  removed: 'what it replaced is gone',
  failed: 'given up; the source is kept and nothing is lost',
};

/** The name of a state. The journal's `removed` reads as if records had been removed, so it has another here. */
export function shownState(state: MoveState): string {
  return state === 'removed' ? 'done' : state;
}

/** What each kind of move does, in a few words. */
export const kindWords: Readonly<Record<MoveKind, string>> = {
  move: 'hot days become cold',
  compact: 'small objects become fewer',
  delete: 'whole days go for good, by policy',
  erase: 'records go for good, by request',
  forget: 'what a lost object held leaves the counters',
  import: 'days of an import become cold at once',
};

/** What each kind of problem of a verification means. */
export const problemWords: Readonly<Record<ProblemKind, string>> = {
  object_missing: 'object missing',
  object_size: 'object of another size',
  object_damaged: 'object damaged',
  object_orphan: 'object nobody knows',
  object_overdue: 'object that should be gone',
  upload_unfinished: 'upload that was never finished',
  triple_mismatch: 'records differ',
  counter_mismatch: 'counter differs',
  order_mismatch: 'records out of order',
  filter_mismatch: 'filter of events wrong',
};

/** A range of days: `2001-03-01 … 03-31`. One day is shown alone, and the year is repeated where it differs. */
export function daysText(first: string, last: string): string {
  if (first === last) return first;
  const end = first.slice(0, 4) === last.slice(0, 4) ? last.slice(5) : last;
  return `${first} … ${end}`;
}

/** The size of records and of their objects: `1.4 GB in 36 MB`, or `–` when nothing is stored. */
export function storedText(bytes: number, stored: number): string {
  return bytes === 0 ? '–' : `${formatBytes(bytes)} in ${formatBytes(stored)}`;
}

/** How many times smaller the objects are: `40 ×`, `3.2 ×`. */
export function ratioText(bytes: number, stored: number): string {
  if (bytes === 0 || stored === 0) return '–';
  const ratio = bytes / stored;
  return `${ratio >= 10 ? Math.floor(ratio) : (Math.floor(ratio * 10) / 10).toFixed(1)} ×`;
}

/** Why a move failed and what to do, as the mover has written it down. */
export function reasonText({ error }: Pick<RetentionMove, 'error'>): string {
  return error ?? 'Its source is kept. The next run tries again; the log of the service has more.';
}

/** Whether a move ended because it is no longer allowed (a hold, for instance): nobody has to do anything about it. */
export function isCalledOff({ error_code: code }: Pick<RetentionMove, 'error_code'>): boolean {
  return code !== null && calledOffCodes.includes(code);
}
