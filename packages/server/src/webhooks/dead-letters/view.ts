import { formatCount } from '../../kernel/values.ts';
import {
  type BulkAction,
  type RowOutcome,
  rowOutcomes,
  type ShownOutcome,
  shownOutcomes,
  unsettledOutcomes,
} from '../values.ts';
import { outcomeWords } from './values.ts';

/** One number of what became of a bulk job, in words: `23 wait for the breaker`. */
type OutcomePart = {
  readonly text: string;
  /** By which the list of deliveries finds these rows; null finds all of the job, undefined none. */
  readonly outcome: ShownOutcome | null | undefined;
};

/** What a bulk job or a replay tells of what became of its rows. */
export type Became = {
  readonly action: BulkAction | 'replay';
  readonly state: string;
  readonly rows_done: number;
  readonly outcome: {
    readonly counts: Partial<Record<RowOutcome, number>>;
    readonly settled_at: string | null;
  } | null;
};

const doneWords = { retry: 're-armed', purge: 'discarded', replay: 'queued' } as const;

/** What a job has done, and what became of it: `24 re-armed`, `1 failed again`, `23 wait for the breaker`. */
export function outcomeParts(job: Became): readonly OutcomePart[] {
  const { action, rows_done: done, outcome: seen } = job;
  const all = `${formatCount(done)} ${doneWords[action]}`;
  const parts = rowOutcomes.flatMap((outcome) => {
    const count = seen?.counts[outcome] ?? 0;
    // Those that a purge has discarded are all of it.
    if (count === 0 || (action === 'purge' && outcome === 'discarded')) return [];
    const word = outcomeWords[outcome];
    // What a replay sends may never have failed before.
    const text = `${formatCount(count)} ${action === 'replay' ? word.replace(/ again$/, '') : word}`;
    return [{ text, outcome: shownOutcomes.find((each) => each === outcome) }];
  });
  return [{ text: all, outcome: null }, ...parts];
}

/** Says that the numbers are not the last ones; '' when they are. Of a paused job that alone is said. */
export function settledText(job: Omit<Became, 'action'>): string {
  const { state, outcome, rows_done: done } = job;
  if (state === 'paused') return state;
  if (outcome === null) return 'nobody has looked yet';
  if (outcome.settled_at !== null) return '';
  // The last look may have come before the job ended, and have seen all of it.
  const seen = rowOutcomes.reduce((sum, each) => sum + (outcome.counts[each] ?? 0), 0);
  const hasEnded = state === 'completed' || state === 'cancelled';
  const isFinal = seen >= done && unsettledOutcomes.every((each) => !outcome.counts[each]);
  return hasEnded && isFinal ? '' : 'still under way';
}

/** What became of a job: `24 re-armed · 1 failed again · 23 wait for the breaker · still under way`. */
export function outcomeText(job: Became): string {
  return [...outcomeParts(job).map(({ text }) => text), settledText(job)]
    .filter((part) => part !== '')
    .join(' · ');
}
