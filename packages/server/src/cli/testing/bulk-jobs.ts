import type { BulkJob } from '../webhooks/bulk-jobs.ts';

/** A bulk retry that has just begun. */
export const bulkRetry: BulkJob = {
  id: 'rty_1',
  action: 'retry',
  state: 'running',
  status: 'abandoned',
  tenant: null,
  endpoint_id: null,
  failure_class: null,
  event_type: null,
  failed_from: null,
  failed_to: null,
  rate: null,
  waits_for_endpoint: false,
  rows_total: 1204,
  rows_done: 0,
  rows_skipped: 0,
  rows_left: 0,
  outcome: null,
  created_by: 'ops',
  created_at: '2026-03-05T11:00:00.000000Z',
  updated_at: '2026-03-05T11:00:00.000000Z',
  finished_at: null,
};

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
