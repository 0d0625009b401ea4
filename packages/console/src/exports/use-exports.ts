import type { UseQueryResult } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { ExportJob, Manifest, Page } from '../api/types.ts';
import { basePath } from '../api/values.ts';
import { exportFilters } from '../api/views.ts';
import { listParams } from '../ui/list-search.ts';
import { exportsKey, neverStale, useRead } from '../ui/poll.tsx';
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

/** Removes the file of a completed export. */
export function removeFile(id: string): Promise<ExportJob> {
  return api.delete(pathOf(id));
}
