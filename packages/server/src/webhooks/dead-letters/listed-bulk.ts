import { formatCount } from '../../kernel/values.ts';
import type { Audit } from '../../platform/audit.ts';
import { type ListedKind, ofTenants } from '../../platform/jobs/listed.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { cancelled, changeJob } from '../paced-jobs.ts';
import type { BulkAction } from '../values.ts';
import { bulkKind } from './bulk-jobs.ts';
import { listedBulk } from './job-queries.ts';
import { type Became, outcomeText } from './view.ts';

type Told = Omit<Became, 'action' | 'state'> & {
  status: string | null;
  endpoint_id: string | null;
  failure_class: string | null;
  event_type: string | null;
  is_limited: boolean;
  skipped: number;
};

const paths = { retry: '/webhook/dlq/retries', purge: '/webhook/dlq/jobs' } as const;
const verbs = { retry: 'Re-arms', purge: 'Discards' } as const;

/** The bulk jobs of an action in the list of all jobs. */
export function listBulkAsJobs(db: Database, audit: Audit, action: BulkAction): ListedKind<Told> {
  return {
    kind: action,
    scope: 'dlq:operate',
    unit: 'deliveries',
    path: paths[action],
    table: listedBulk(action),
    summary({ tenant, state, told }) {
      const { status, endpoint_id: endpoint, failure_class: failure, event_type: type } = told;
      const what = `${status ?? 'failed'} deliveries`;
      const where = endpoint === null ? ofTenants(tenant, told.is_limited) : `to ${endpoint}`;
      const why = failure === null ? '' : ` of the class ${failure}`;
      const events = type === null ? '' : ` with events ${type}`;
      const left = told.skipped === 0 ? '' : `; ${formatCount(told.skipped)} were left alone`;
      return `${verbs[action]} the ${what} ${where}${why}${events}${left}.${becameText({ ...told, action, state })}`;
    },
    cancel: ({ id, ...caller }) =>
      changeJob(db, { ...caller, audit }, bulkKind(action), { id, change: cancelled }),
  };
}

/** What became of its rows, where anything has: ` 24 re-armed · 1 failed again · 23 wait for the breaker.` */
export function becameText(job: Became): string {
  const isTold = job.outcome !== null && job.rows_done > 0;
  return isTold ? ` ${outcomeText(job)}.` : '';
}
