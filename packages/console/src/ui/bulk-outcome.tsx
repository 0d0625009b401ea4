import type { ReactNode } from 'react';
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
