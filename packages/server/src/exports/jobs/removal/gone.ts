import type { Connection } from '../../../platform/postgres/database.ts';
import type { DayWindow, Gone } from '../../../records/index.ts';
import type { PinnedJobSlice } from '../job.ts';
import { lockQueue } from '../queries.ts';
import { endJobs, listWithRecords } from './queries.ts';

const causes = {
  erase: 'Records of its slice were erased on request',
  delete: 'Records of its slice were deleted by retention',
} as const;

/**
 * Removes the files, and ends the jobs, whose slice has days that lost records: inside the transaction that
 * lets the records go. A job made meanwhile waits for it, and pins what is left. Answers how many files.
 */
export async function noteGoneExports(connection: Connection, gone: Gone): Promise<number> {
  const { tenant, kind } = gone;
  await lockQueue(connection, tenant);
  const jobs = await listWithRecords(connection, tenant);
  const ids = jobs.filter(({ slice }) => hasLost(slice, gone)).map(({ id }) => id);
  if (ids.length === 0) return 0;
  return endJobs(connection, {
    tenant,
    ids,
    text: `${causes[kind]}. Start the export again without them.`,
    fileText: `${causes[kind]}, so its file was removed. Start the export again without them.`,
  });
}

/** Whether any of the days is one of the slice. By kind or split it may be more than needed, never less. */
export function hasLost(slice: PinnedJobSlice, { days }: Pick<Gone, 'days'>): boolean {
  const windows = slice.dataset === undefined ? null : (slice.tags?.[slice.dataset] ?? []);
  return days.some(
    ({ store, day }) =>
      (slice.store === undefined || slice.store === store) &&
      (slice.from === undefined || day >= slice.from) &&
      (slice.until === undefined || day < slice.until) &&
      (windows === null || windows.some((window) => isIn(window, { store, day }))),
  );
}

function isIn(window: DayWindow, { store, day }: { store: string; day: string }): boolean {
  return (
    (window.store === null || window.store === store) && day >= window.from && day < window.until
  );
}
