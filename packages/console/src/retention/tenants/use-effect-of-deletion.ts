import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DatasetRow, Page } from '../../api/types.ts';
import { retentionKey } from '../calls.ts';
import { countBefore } from './policy-values.ts';

export type Effect = {
  readonly count: number;
  readonly firstKept: string;
  /** There are more leaves than were counted. */
  readonly isPart: boolean;
};

/** 5,000 leaves: whoever has more is told that it is at least this many. */
const mostPages = 10;

/** How many records of a tenant lie before a day, by the counters of its days; asked when it is shown. */
export function useEffectOfDeletion(
  tenant: string,
  firstKept: string | undefined,
): UseQueryResult<Effect> {
  return useQuery<Effect>({
    queryKey: [...retentionKey, 'effect', tenant, firstKept],
    enabled: firstKept !== undefined,
    placeholderData: () => undefined,
    refetchInterval: false,
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      let count = 0;
      let cursor: string | undefined;
      for (let page = 0; page < mostPages; page += 1) {
        const params = { tenant, level: 'month', include: 'days', limit: 500, cursor };
        const answer: Page<DatasetRow> = await api.get('/enrichment/datasets', params, signal);
        for (const { month, days } of answer.data) {
          if (month !== null) count += countBefore(month, days ?? [], firstKept ?? '');
        }
        cursor = answer.next_cursor ?? undefined;
        if (cursor === undefined) break;
      }
      return { count, firstKept: firstKept ?? '', isPart: cursor !== undefined };
    },
  });
}
