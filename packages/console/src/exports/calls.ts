import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { Page } from '../api/types.ts';
import { pollMs, usePollOf } from '../webhooks/use-poll.ts';
import type { ExportsSearch } from './search.ts';
import type { ExportFormat, ExportJob, ExportRequest, Manifest } from './types.ts';
import { isOpen } from './words.ts';

/** What is kept of export jobs: all begins with this key. */
export const exportsKey = ['exports'] as const;

const pageSize = 100;
/** While something is queued or running. */
export const followMs = 1_500;

/** For `placeholderData`: what another key holds is not this. The frame would keep it. */
const noPlaceholder = () => undefined;

function pathOf(id: string): string {
  return `/exports/${encodeURIComponent(id)}`;
}

/** Where the browser downloads the file by itself, and resumes. */
export function fileHref(id: string): string {
  return `/api/v1${pathOf(id)}/file`;
}

export function manifestHref(id: string): string {
  return `/api/v1${pathOf(id)}/manifest`;
}

/** A page of jobs, the latest first: followed closely while one of them is under way. */
export function useExports({
  tenant,
  state,
  cursor,
}: ExportsSearch): UseQueryResult<Page<ExportJob>> {
  const closely = usePollOf(followMs);
  const calmly = usePollOf(pollMs);
  const params = { tenant, state, cursor, limit: pageSize };
  return useQuery<Page<ExportJob>>({
    queryKey: [...exportsKey, 'list', params],
    refetchInterval: (query) =>
      query.state.data?.data.some(isOpen) ? closely(query) : calmly(query),
    queryFn: ({ signal }) => api.get<Page<ExportJob>>('/exports', params, signal),
  });
}

export function useExport(id: string | undefined): UseQueryResult<ExportJob> {
  const closely = usePollOf(followMs);
  const calmly = usePollOf(pollMs);
  return useQuery<ExportJob>({
    queryKey: [...exportsKey, 'one', id],
    enabled: id !== undefined,
    placeholderData: noPlaceholder,
    refetchInterval: (query) =>
      query.state.data !== undefined && isOpen(query.state.data) ? closely(query) : calmly(query),
    queryFn: ({ signal }) => api.get<ExportJob>(pathOf(id ?? ''), {}, signal),
  });
}

/** Of a completed export: it never changes. */
export function useManifest({ id, state }: ExportJob): UseQueryResult<Manifest> {
  return useQuery<Manifest>({
    queryKey: [...exportsKey, 'manifest', id],
    enabled: state === 'completed',
    placeholderData: noPlaceholder,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => api.get<Manifest>(`${pathOf(id)}/manifest`, {}, signal),
  });
}

/** Asks for an export as a job. */
export function createExport(format: ExportFormat, body: ExportRequest): Promise<ExportJob> {
  return api.post(`/exports/${format}`, body, { headers: { prefer: 'respond-async' } });
}

/**
 * Stops a job that has not ended; answers it as it is then. What has ended meanwhile is left alone: the
 * same call would remove its file.
 */
export async function cancelExport(id: string): Promise<ExportJob> {
  const job = await api.get<ExportJob>(pathOf(id));
  return isOpen(job) ? api.delete<ExportJob>(pathOf(id)) : job;
}

/** Removes the file of a completed export. */
export function removeFile(id: string): Promise<ExportJob> {
  return api.delete(pathOf(id));
}
