import type { UseQueryResult } from '@tanstack/react-query';
import type { DatasetVersion, Page } from '../../api/types.ts';
import { calmPollMillis, useRead } from '../../ui/poll.tsx';

export const versionsKey = ['records', 'versions'] as const;
export const versionsPath = '/enrichment/dataset-versions';
const mostVersions = 200;
const followed = { everyMillis: calmPollMillis, isOne: true } as const;
const followMillis = 1_000;

/** Reads the dataset versions of a tenant, latest first, and reads them often while one is being counted. */
export function useVersions(
  tenant: string | undefined,
  isShown: boolean,
): UseQueryResult<Page<DatasetVersion>> {
  return useRead<Page<DatasetVersion>>([...versionsKey, 'of', tenant], versionsPath, {
    ...followed,
    params: { tenant, limit: mostVersions },
    isWanted: tenant !== undefined && isShown,
    follow: [({ data }) => data.some(isCounting), followMillis],
  });
}

/** Reads one version, and often while it is being counted. Without an id nothing is read. */
export function useVersion(id: string | undefined): UseQueryResult<DatasetVersion> {
  return useRead([...versionsKey, 'one', id], versionPath(id ?? ''), {
    ...followed,
    isWanted: id !== undefined,
    follow: [isCounting, followMillis],
  });
}

function isCounting({ state }: DatasetVersion): boolean {
  return state === 'counting';
}

export function versionPath(id: string): string {
  return `${versionsPath}/${encodeURIComponent(id)}`;
}
