import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DatasetVersion, Page } from '../../api/types.ts';
import { calmPollMillis, noPlaceholder, useFollowing } from '../../ui/poll.tsx';

// What only reads stands by itself, because it is in the first load.

export const versionsKey = ['records', 'versions'] as const;
export const versionsPath = '/enrichment/dataset-versions';
const followMillis = 1_000;
const mostVersions = 200;

/** Reads the dataset versions of a tenant, latest first, and reads them often while one is being counted. */
export function useVersions(
  tenant: string | undefined,
  isShown: boolean,
): UseQueryResult<Page<DatasetVersion>> {
  return useQuery<Page<DatasetVersion>>({
    queryKey: [...versionsKey, 'of', tenant],
    enabled: tenant !== undefined && isShown,
    placeholderData: noPlaceholder,
    refetchInterval: useFollowing(
      ({ data }) => data.some(isCounting),
      followMillis,
      calmPollMillis,
    ),
    queryFn: ({ signal }) =>
      api.get<Page<DatasetVersion>>(versionsPath, { tenant, limit: mostVersions }, signal),
  });
}

/** Reads one version, and often while it is being counted. Without an id nothing is read. */
export function useVersion(id: string | undefined): UseQueryResult<DatasetVersion> {
  return useQuery<DatasetVersion>({
    queryKey: [...versionsKey, 'one', id],
    enabled: id !== undefined,
    placeholderData: noPlaceholder,
    refetchInterval: useFollowing(isCounting, followMillis, calmPollMillis),
    queryFn: ({ signal }) => api.get<DatasetVersion>(versionPath(id ?? ''), {}, signal),
  });
}

function isCounting({ state }: DatasetVersion): boolean {
  return state === 'counting';
}

/** The path of one version in the API. */
export function versionPath(id: string): string {
  return `${versionsPath}/${encodeURIComponent(id)}`;
}
