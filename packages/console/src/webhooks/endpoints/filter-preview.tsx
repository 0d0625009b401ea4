import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import type { FilterTrial, TriedFilter } from '../../api/types.ts';
import { faultText } from '../../ui/form.tsx';
import { Moment } from '../../ui/marks.tsx';
import { countOf } from '../../ui/words.ts';
import { incidentHref } from '../search.ts';

const reasonWords = {
  type: 'another type',
  store: 'another store',
  where: 'filtered out',
  too_costly: 'delivered: the filter takes too long',
} as const;

/** So many of the incidents that would not pass are shown. */
const shownRows = 5;

/** Says which of the last hundred incidents of the tenant an endpoint would get as the form stands. */
export function FilterPreview({ trial }: { trial: FilterTrial | null }): ReactNode {
  const call = useMutation({
    mutationFn: (asked: FilterTrial) => api.post<TriedFilter>('/webhook/filters/test', asked),
  });
  // What was found for other fields must not be taken for these.
  const isOf = JSON.stringify(call.variables) === JSON.stringify(trial);
  const fault = isOf ? faultText(call.error) : '';
  return (
    <div className="stack gap-8">
      <div className="flex wrap gap-8 baseline">
        <Button
          size="compact-xs"
          disabled={trial === null}
          loading={call.isPending}
          onClick={() => trial !== null && call.mutate(trial)}
        >
          Try it on the last 100 incidents
        </Button>
        <span role="status">{isOf && call.data !== undefined && summaryOf(call.data)}</span>
      </div>
      {fault !== '' && (
        <p className="form-fault" role="alert">
          {fault}
        </p>
      )}
      {isOf && call.data !== undefined && <KeptBack tried={call.data} />}
    </div>
  );
}

/** `37 of 100 incidents pass`. */
function summaryOf({ looked_at: looked, passed }: TriedFilter): string {
  if (looked === 0) return 'There are no incidents yet to try it on.';
  return `${passed} of ${countOf(looked, 'incident')} ${passed === 1 ? 'passes' : 'pass'}`;
}

/** The newest of those that would not pass. */
export function KeptBack({ tried }: { tried: TriedFilter }): ReactNode {
  const rows = tried.data.filter(({ reason }) => reason !== null);
  if (rows.length === 0) return null;
  return (
    <ul className="line-over">
      {rows.slice(0, shownRows).map(({ id, type, store, created_at: at, reason }) => (
        <li key={id} className="flex wrap gap-8 baseline">
          {at !== null && <Moment at={at} />}
          <a href={incidentHref(id ?? '')}>{type}</a>
          {store !== null && <span>{store}</span>}
          <span className="muted">{reason !== null && reasonWords[reason]}</span>
        </li>
      ))}
      {rows.length > shownRows && <li className="muted">and {rows.length - shownRows} more</li>}
    </ul>
  );
}
