import * as queries from './job-queries.ts';
import { findOpenEndpoints, rearmAll } from './queries.ts';
import type { RowWork } from './walk-rows.ts';

/** A retry in bulk: rows are queued again, unless their endpoints are disabled or deleted, or their payloads erased. */
export const rearmRows: RowWork = {
  wakes: true,
  async doRows(db, rows, job) {
    const endpointIds = [...new Set(rows.map((row) => row.endpoint_id))];
    const endpoints = await findOpenEndpoints(db, endpointIds, {
      defaultBudget: job.position?.max_attempts ?? 1,
      since: job.failed_until,
    });
    const rearmable = rows.flatMap(({ lane, id, endpoint_id, failure_class }) => {
      const endpoint = endpoints.get(endpoint_id);
      if (endpoint === undefined || failure_class === 'erased') return [];
      const isProbe = endpoint.needs_probe;
      // An operator's retry passes a pause. One row of many is enough: if it succeeds, the pause ends.
      endpoint.needs_probe = false;
      return [{ lane, id, budget: endpoint.budget, isProbe }];
    });
    return rearmAll(db, rearmable, { failedUntil: job.failed_until, jobId: job.id });
  },
  /** Those whose endpoint was disabled since the job was made. */
  async countLeft(db, rows, job) {
    const ids = [...new Set(rows.map((row) => row.endpoint_id))];
    const closed = await queries.findClosedSince(db, job.id, ids);
    return rows.filter((row) => closed.has(row.endpoint_id)).length;
  },
};
