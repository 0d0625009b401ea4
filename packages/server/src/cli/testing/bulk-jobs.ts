import type { BulkJob } from '../webhooks/bulk-jobs.ts';
import { rowOf } from './answers.ts';

/** A bulk retry that has just begun. */
export const bulkRetry: BulkJob = rowOf('GET /webhook/dlq/jobs', {
  id: 'rty_1',
  action: 'retry',
  state: 'running',
  status: 'abandoned',
  rows_total: 1204,
  created_by: 'ops',
  created_at: '2026-03-05T11:00:00.000000Z',
  updated_at: '2026-03-05T11:00:00.000000Z',
});

/** What a bulk job would do. */
export const bulkPreview = {
  count: 1204,
  skipped: 3,
  groups: [
    {
      endpoint_id: 'ep_1',
      target: 'https://hooks.acme.example/in',
      failure_class: 'status',
      count: 1204,
    },
  ],
};
