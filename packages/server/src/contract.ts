import { approvalsContract } from './access/approvals.contract.ts';
import { accessContract } from './access/contract.ts';
import { portalContract } from './access/portal.contract.ts';
import { savedViewsContract } from './access/saved-views.contract.ts';
import { checksContract } from './checks/contract.ts';
import { noticesContract } from './checks/notices/contract.ts';
import { exportsContract } from './exports/contract.ts';
import { exportJobsContract } from './exports/jobs.contract.ts';
import { schedulesContract } from './exports/schedules.contract.ts';
import { icebergContract } from './iceberg/contract.ts';
import { jobsContract } from './platform/jobs/contract.ts';
import { recordsContract } from './records/contract.ts';
import { countContract } from './records/count.contract.ts';
import { fieldsContract } from './records/fields.contract.ts';
import { importJobContract } from './records/import-job.contract.ts';
import { tagsContract } from './records/tags.contract.ts';
import { tailContract } from './records/tail.contract.ts';
import { versionsContract } from './records/versions.contract.ts';
import { retentionContract } from './retention/contract.ts';
import { webhooksContract } from './webhooks/contract.ts';

/** All that clients may see of the API: routes as data, by name. */
export const apiContract = {
  ...accessContract,
  ...approvalsContract,
  ...portalContract,
  ...savedViewsContract,
  ...checksContract,
  ...recordsContract,
  ...countContract,
  ...importJobContract,
  ...fieldsContract,
  ...tailContract,
  ...tagsContract,
  ...versionsContract,
  ...exportsContract,
  ...exportJobsContract,
  ...schedulesContract,
  ...retentionContract,
  ...icebergContract,
  ...webhooksContract,
  ...noticesContract,
  ...jobsContract,
} as const;

export * from './access/approvals.contract.ts';
export * from './access/audit-chain.contract.ts';
export * from './access/contract.ts';
export * from './access/portal.contract.ts';
export * from './access/saved-views.contract.ts';
export * from './checks/contract.ts';
export * from './checks/notices/contract.ts';
export * from './exports/contract.ts';
export * from './exports/jobs.contract.ts';
export * from './exports/schedules.contract.ts';
export * from './iceberg/contract.ts';
export type { RouteContract } from './platform/http/contract.ts';
export type { WorkRow } from './platform/http/schemas.contract.ts';
export * from './platform/jobs/contract.ts';
export * from './records/contract.ts';
export * from './records/count.contract.ts';
export * from './records/fields.contract.ts';
export * from './records/import-job.contract.ts';
export * from './records/stored.contract.ts';
export * from './records/tags.contract.ts';
export * from './records/tail.contract.ts';
export * from './records/versions.contract.ts';
export * from './retention/contract.ts';
export * from './webhooks/contract.ts';
