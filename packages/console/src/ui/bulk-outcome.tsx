import type { ReactNode } from 'react';
import type { BulkJob } from '../api/types.ts';
import { type Became, outcomeParts, settledText } from '../api/views.ts';
import { stringifySearch } from './hash-state.ts';

/** What became of a bulk job or a replay: each number leads to its rows, and it is said whether they are the last ones. */
export function BulkOutcome({ job }: { job: Became & { readonly id: string } }): ReactNode {
  const settled = settledText(job);
  return (
    <>
      {outcomeParts(job).map(({ text, outcome }, index) => (
        <span key={text}>
          {index > 0 && ' · '}
          {outcome === undefined ? (
            text
          ) : (
            <a
              href={`#/deliveries${stringifySearch({ job: job.id, outcome: outcome ?? undefined })}`}
            >
              {text}
            </a>
          )}
        </span>
      ))}
      {settled !== '' && ` · ${settled}`}
    </>
  );
}

/** What became of the rows of a job is mostly known so soon after its end. */
const outcomeMillis = 60_000;

/** Whether a job is at work, or its rows were queued so lately that something becomes of them at any moment. */
export function isWatched(
  job: Pick<BulkJob, 'state' | 'finished_at' | 'outcome' | 'rows_done'>,
): boolean {
  const { state, finished_at: at, outcome, rows_done: done } = job;
  if (at === null) return state === 'running';
  const isSettled = done === 0 || (outcome?.settled_at ?? null) !== null;
  return !isSettled && Date.now() - Date.parse(at) < outcomeMillis;
}
