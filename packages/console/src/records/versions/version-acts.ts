import { useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DatasetVersion, NewVersion } from '../../api/types.ts';
import { useAct } from '../../ui/act.ts';
import { notify } from '../../ui/toasts.tsx';
import { versionPath, versionsKey, versionsPath } from './use-versions.ts';

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
