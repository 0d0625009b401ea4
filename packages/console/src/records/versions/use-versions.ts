import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { api, isStepUp } from '../../api/client.ts';
import type { DatasetVersion, NewVersion } from '../../api/types.ts';
import { reasonOf } from '../../ui/outage.ts';
import { notify } from '../../ui/toasts.tsx';
import { versionPath, versionsKey, versionsPath } from './read-versions.ts';

/** Freezes a version. The service answers at once, and counts the records afterwards. */
export function useFreeze(onDone: (version: DatasetVersion) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (version: NewVersion) => api.post<DatasetVersion>(versionsPath, version),
    onSuccess: (version) => {
      client.setQueryData([...versionsKey, 'one', version.id], version);
      notify({ text: `Frozen as ${version.name}. Its records are being counted.` });
      onDone(version);
    },
    onSettled: () => refresh(client),
  });
}

/** Deletes a version; its records stay. */
export function useDeleteVersion(version: DatasetVersion, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => api.delete(versionPath(version.id)),
    onSuccess: () => {
      notify({ text: `Deleted the version ${version.name}. Its records stay.` });
      onDone();
      client.removeQueries({ queryKey: [...versionsKey, 'one', version.id] });
    },
    onError: (error) => {
      if (!isStepUp(error)) notify({ text: `Not deleted: ${version.name}. ${reasonOf(error)}` });
    },
    onSettled: () => refresh(client),
  });
}

function refresh(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: [...versionsKey, 'of'] });
}
