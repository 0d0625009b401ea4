import { type QueryClient, type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { api } from '../api/client.ts';
import type { ExportJob, Manifest, Page } from '../api/types.ts';
import { exportFilters } from '../api/views.ts';
import { listParams } from '../ui/list-search.ts';
import { reasonOf } from '../ui/outage.ts';
import { exportHref } from '../ui/panel-place.ts';
import { exportsKey, neverStale, useRead } from '../ui/poll.tsx';
import { notify, type Toast } from '../ui/toasts.tsx';
import type { ExportsSearch } from './search.ts';
import { isOpen } from './words.ts';

/** How often a job or a list is read while a job is queued or running. */
export const followMillis = 1_500;

function pathOf(id: string): string {
  return `/exports/${encodeURIComponent(id)}`;
}

/** The address of a job's file. The browser downloads it by itself, and can resume. */
export function fileHref(id: string): string {
  return `/api/v1${pathOf(id)}/file`;
}

/** The address of a job's manifest, for a download by the browser. */
export function manifestHref(id: string): string {
  return `/api/v1${pathOf(id)}/manifest`;
}

/** Reads a page of jobs, latest first, and reads it often while one of them is under way. */
export function useExports(search: ExportsSearch): UseQueryResult<Page<ExportJob>> {
  const params = listParams(exportFilters, search);
  return useRead<Page<ExportJob>>([...exportsKey, 'list', params], '/exports', {
    params,
    follow: [({ data }) => data.some(isOpen), followMillis],
  });
}

/** Reads one job, and often while it is under way. Without an id nothing is read. */
export function useExport(id: string | undefined): UseQueryResult<ExportJob> {
  return useRead<ExportJob>([...exportsKey, 'one', id], pathOf(id ?? ''), {
    isWanted: id !== undefined,
    isOne: true,
    follow: [isOpen, followMillis],
  });
}

/** Reads the manifest of a completed export. A manifest never changes, so it is read once. */
export function useManifest({ id, state }: ExportJob): UseQueryResult<Manifest> {
  return useRead([...exportsKey, 'manifest', id], `${pathOf(id)}/manifest`, {
    isWanted: state === 'completed',
    isOne: true,
    everyMillis: null,
    staleMillis: neverStale,
  });
}

/** Stops a job that has not ended. It is read first: of one that has ended the same call would remove the file. */
async function cancelExport(id: string): Promise<ExportJob> {
  const job = await api.get<ExportJob>(pathOf(id));
  return isOpen(job) ? api.delete<ExportJob>(pathOf(id)) : job;
}

/** Removes the file of a completed export. */
export function removeFile(id: string): Promise<ExportJob> {
  return api.delete(pathOf(id));
}

/** The cancellation of jobs, shared by the list and the drawer. */
export type Cancelling = {
  /** Jobs whose cancellation is under way. */
  readonly ids: ReadonlySet<string>;
  readonly cancel: (job: ExportJob) => void;
};

/** Cancels jobs without asking, and shows a message with the outcome. */
export function useCancel(): Cancelling {
  const client = useQueryClient();
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const cancel = useCallback(
    (job: ExportJob) => {
      setIds((before) => new Set([...before, job.id]));
      void cancelExport(job.id)
        .then(
          (answer) => {
            show(client, answer);
            notify(toastOf(answer));
          },
          (error: Error) => notify({ text: `Not cancelled: ${job.file_name}. ${reasonOf(error)}` }),
        )
        .then(() => client.invalidateQueries({ queryKey: exportsKey }))
        .finally(() => setIds((before) => new Set([...before].filter((id) => id !== job.id))));
    },
    [client],
  );
  return useMemo(() => ({ ids, cancel }), [ids, cancel]);
}

/** Puts a job into the cached lists and the drawer at once: the next answers of the service come a moment later. */
function show(client: QueryClient, job: ExportJob): void {
  client.setQueryData<ExportJob>([...exportsKey, 'one', job.id], job);
  client.setQueriesData<Page<ExportJob>>({ queryKey: [...exportsKey, 'list'] }, (list) =>
    list === undefined
      ? undefined
      : { ...list, data: list.data.map((each) => (each.id === job.id ? job : each)) },
  );
}

/** The message after a cancellation, which may have come too late. */
function toastOf({ id, state, file_name: name }: ExportJob): Toast {
  if (state === 'completed') {
    const href = exportHref(id);
    return { text: `${name} was finished already; it is kept.`, href, linkText: 'see it' };
  }
  if (state === 'erased') return { text: `${name} has no file any more: it was erased.` };
  return { text: state === 'failed' ? `${name} had failed already.` : `Cancelled ${name}` };
}
