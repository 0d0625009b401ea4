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

// What is read stretch by stretch is added up by whoever reads it.

type Told = { readonly count: number; readonly records: readonly unknown[] };
type Compared = { readonly added: Told; readonly gone: Told; readonly moved: Told | null };

/** Adds the next stretch to what was compared. Of the records, which come in the order of their keys, the first are kept. */
export function addDiffs<D extends Compared>(before: D, next: D, limit: number): D {
  const { moved } = before;
  return {
    ...next,
    added: addTold(before.added, next.added, limit),
    gone: addTold(before.gone, next.gone, limit),
    moved: moved === null || next.moved === null ? null : addTold(moved, next.moved, limit),
  };
}

function addTold<T extends Told>(before: T, next: T, limit: number): T {
  const records = [...before.records, ...next.records].slice(0, limit);
  return { ...next, count: before.count + next.count, records };
}
