import { dayFilters, tenantFilter } from '../kernel/view.ts';
import { datasetNames } from './values.ts';

export const versionFilters = {
  tenant: tenantFilter,
  dataset: { choices: datasetNames, value: 'name', help: 'only of this dataset' },
} as const;

export const tagFilters = {
  tenant: tenantFilter,
  store: { help: 'only those that touch this store' },
  dataset: versionFilters.dataset,
  month: { help: 'only those that touch this month, as 2026-03' },
  ...dayFilters('only those that touch days from this one on'),
} as const;
