import {
  type QueryClient,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DatasetVersion, NewVersion, Page } from '../../api/types.ts';
import { calmPollMillis, noPlaceholder, useFollowing } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';

const versionsKey = ['records', 'versions'] as const;
const path = '/enrichment/dataset-versions';
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
      api.get<Page<DatasetVersion>>(path, { tenant, limit: mostVersions }, signal),
  });
}

/** Reads one version, and often while it is being counted. Without an id nothing is read. */
export function useVersion(id: string | undefined): UseQueryResult<DatasetVersion> {
  return useQuery<DatasetVersion>({
    queryKey: [...versionsKey, 'one', id],
    enabled: id !== undefined,
    placeholderData: noPlaceholder,
    refetchInterval: useFollowing(isCounting, followMillis, calmPollMillis),
    queryFn: ({ signal }) => api.get<DatasetVersion>(pathOf(id ?? ''), {}, signal),
  });
}

/** Freezes a version. The service answers at once, and counts the records afterwards. */
export function useFreeze(onDone: (version: DatasetVersion) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (version: NewVersion) => api.post<DatasetVersion>(path, version),
    onSuccess: (version) => {
      client.setQueryData([...versionsKey, 'one', version.id], version);
      notify({ text: `Frozen as ${version.name}. Its records are being counted.` });
      onDone(version);
    },
    onSettled: () => refresh(client),
  });
}

/** Deletes a version; its records stay. */
export function useDeleteVersion(onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (version: DatasetVersion) => api.delete(pathOf(version.id)),
    onSuccess: (_, version) => {
      notify({ text: `Deleted the version ${version.name}. Its records stay.` });
      onDone();
      client.removeQueries({ queryKey: [...versionsKey, 'one', version.id] });
    },
    onSettled: () => refresh(client),
  });
}

function refresh(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: [...versionsKey, 'of'] });
}

function isCounting({ state }: DatasetVersion): boolean {
  return state === 'counting';
}

function pathOf(id: string): string {
  return `${path}/${encodeURIComponent(id)}`;
}
