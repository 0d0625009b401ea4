import { numberOf } from '../../kernel/values.ts';
import type { ListedKind } from '../../platform/jobs/listed.ts';
import { listedVersions } from './queries.ts';

type Told = { name: string; dataset: string; count: number | null };

/** The countings of dataset versions in the list of all jobs. */
export const versionsAsJobs: ListedKind<Told> = {
  kind: 'version',
  scope: 'enrichment:read',
  unit: null,
  path: '/enrichment/dataset-versions',
  table: listedVersions,
  summary: ({ tenant, told: { name, dataset, count } }) =>
    `Counts ${count === null ? 'the records' : numberOf(count, 'record')} of the version ${name} of ${dataset} of ${tenant}.`,
};
