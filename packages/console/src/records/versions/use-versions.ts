import { type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DatasetVersion, NewVersion, Page } from '../../api/types.ts';
import { useAct } from '../../ui/act.ts';
import { calmPollMillis, useRead } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';

const versionsKey = ['records', 'versions'] as const;
const versionsPath = '/enrichment/dataset-versions';
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

/** Freezes a version. The service answers at once, and counts the records afterwards. */
export function useFreeze(onFrozen: (version: DatasetVersion) => void) {
  const client = useQueryClient();
  return useAct({
    call: (version: NewVersion) => api.post<DatasetVersion>(versionsPath, version),
    onDone: (version) => {
      client.setQueryData([...versionsKey, 'one', version.id], version);
      notify({ text: `Frozen as ${version.name}. Its records are being counted.` });
      onFrozen(version);
    },
    changes: [...versionsKey, 'of'],
  });
}

/** Deletes a version; its records stay. */
export function useDeleteVersion(version: DatasetVersion, onDeleted: () => void) {
  const client = useQueryClient();
  return useAct({
    call: () => api.delete(versionPath(version.id)),
    onDone: () => {
      notify({ text: `Deleted the version ${version.name}. Its records stay.` });
      onDeleted();
      client.removeQueries({ queryKey: [...versionsKey, 'one', version.id] });
    },
    failed: `Not deleted: ${version.name}`,
    changes: [...versionsKey, 'of'],
  });
}
