import type { UseQueryResult } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../api/client.ts';
import type { ExportJob, Manifest, Page } from '../api/types.ts';
import { basePath } from '../api/values.ts';
import { exportFilters } from '../api/views.ts';
import { useAct } from '../ui/act.ts';
import { listParams } from '../ui/list-search.ts';
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
  return `${basePath}${pathOf(id)}/file`;
}

/** The address of a job's manifest, for a download by the browser. */
export function manifestHref(id: string): string {
  return `${basePath}${pathOf(id)}/manifest`;
}

/** Reads a page of jobs, latest first, and reads it often while one of them is under way. */
export function useExports(search: ExportsSearch): UseQueryResult<Page<ExportJob>> {
  const params = listParams(exportFilters, search);
  return useRead<Page<ExportJob>>([...exportsKey, 'list', params], '/exports', {
    params,
    follow: [({ data }) => data.some(isOpen), followMillis],
  });
}

/** Reads one job, and often while it is under way. */
export function useExport(id: string): UseQueryResult<ExportJob> {
  return useRead<ExportJob>([...exportsKey, 'one', id], pathOf(id), {
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
  /** The job whose cancellation is under way. */
  readonly id: string | undefined;
  readonly cancel: (job: ExportJob) => void;
};

/** Cancels jobs without asking, and shows a message with the outcome. */
export function useCancel(): Cancelling {
  const { isPending, variables, mutate } = useAct({
    call: ({ id }: ExportJob) => cancelExport(id),
    onDone: (answer) => notify(toastOf(answer)),
    failed: ({ file_name }) => `Not cancelled: ${file_name}`,
    changes: exportsKey,
  });
  const id = isPending ? variables.id : undefined;
  return useMemo(() => ({ id, cancel: mutate }), [id, mutate]);
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
