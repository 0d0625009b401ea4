import { tenantFolder } from '../../records/index.ts';
import type { JobId } from './job.ts';

/** All objects of a job lie below this. */
export function jobFolder({ tenant, id }: JobId): string {
  return `exports/${tenantFolder(tenant)}/${id}/`;
}

/**
 * Of a part, or of the ends. Another attempt, by whatever process and of whatever copy of the database,
 * writes another object, so that one which lost the job and has not noticed yet overwrites nothing.
 */
export function partKey(job: JobId & { readonly runner: string }, name: number | 'ends'): string {
  return `${jobFolder(job)}${name}.${job.runner}`;
}
