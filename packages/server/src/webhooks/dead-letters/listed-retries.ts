import { formatCount } from '../../kernel/values.ts';
import type { Audit } from '../../platform/audit.ts';
import { type ListedKind, ofTenants } from '../../platform/jobs/listed.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { listedRetries } from './job-queries.ts';
import { cancelRetryJob } from './retry-jobs.ts';

/** Bulk retries in the list of all jobs. */
export function listRetriesAsJobs(
  db: Database,
  audit: Audit,
): ListedKind<{
  status: string | null;
  endpoint_id: string | null;
  failure_class: string | null;
  is_limited: boolean;
  skipped: number;
}> {
  return {
    ...{ kind: 'retry', scope: 'admin', unit: 'deliveries', path: '/webhook/dlq/retries' },
    table: listedRetries,
    summary({ tenant, told }) {
      const { status, endpoint_id: endpoint, failure_class: failure } = told;
      const what = `${status ?? 'failed'} deliveries`;
      const where = endpoint === null ? ofTenants(tenant, told.is_limited) : `to ${endpoint}`;
      const why = failure === null ? '' : ` of the class ${failure}`;
      const left = told.skipped === 0 ? '' : `; ${formatCount(told.skipped)} were left alone`;
      return `Re-arms the ${what} ${where}${why}${left}.`;
    },
    cancel: ({ id, actor, request }) =>
      cancelRetryJob(
        db,
        {
          actor,
          note: (connection, entry) => audit(connection, { actor, request, ...entry }),
        },
        id,
      ),
  };
}
