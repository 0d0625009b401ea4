import type { Audit } from '../../platform/audit.ts';
import type { ListedKind } from '../../platform/jobs/listed.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { cancelJob } from './list.ts';
import { listedExports } from './queries.ts';

/** Exports in the list of all jobs. `jobs` are at work in this process. */
export function listExportsAsJobs(
  db: Database,
  { audit, jobs }: { audit: Audit; jobs: { cancel(id: string): void } },
): ListedKind<{ file_name: string; is_erased: boolean }> {
  return {
    ...{ kind: 'export', scope: 'analytics:read', unit: 'records', path: '/exports' },
    table: listedExports,
    summary({ tenant, told }) {
      const gone = told.is_erased ? ', which was removed with its records' : '';
      return `Exports records of ${tenant} to ${told.file_name}${gone}.`;
    },
    async cancel(call) {
      const { job, was } = await cancelJob(db, { ...call, audit, keepsFile: true });
      if (was === 'open') jobs.cancel(job.id);
    },
  };
}
