import { jobFilters } from '../api/views.ts';
import { type ListSearch, readList } from '../ui/list-search.ts';

/** The panels of the page JOBS: a job, by its id. */
export const jobsPanels = ['job'] as const;

/** Reads the view state of the page JOBS from a hash. */
export function validateJobsSearch(search: Record<string, unknown>): ListSearch<typeof jobFilters> {
  return readList(search, jobFilters, jobsPanels);
}
