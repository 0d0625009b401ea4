import { numberOf } from '../../kernel/values.ts';
import type { ListedKind } from '../../platform/jobs/listed.ts';
import { listedVersions } from './queries.ts';

/** The countings of dataset versions in the list of all jobs. */
export const versionsAsJobs: ListedKind<{ name: string; dataset: string; count: number }> = {
  ...{ kind: 'version', scope: 'enrichment:read', unit: null },
  path: '/enrichment/dataset-versions',
  table: listedVersions,
  summary: ({ tenant, told: { name, dataset, count } }) =>
    `Counts ${numberOf(count, 'record')} of the version ${name} of ${dataset} of ${tenant}.`,
};
