import { listExportsAsJobs } from '../exports/index.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { addJobRoutes } from '../platform/jobs/listed.ts';
import { listCountsAsJobs, listImportsAsJobs, versionsAsJobs } from '../records/index.ts';
import { runsAsJobs, verificationsAsJobs } from '../retention/index.ts';
import { listBulkAsJobs, listReplaysAsJobs } from '../webhooks/index.ts';
import { type Host, routeTools } from './host.ts';

/** Adds the routes of the one list of all jobs, which puts together what each feature tells of its own. */
export function addJobs(http: HttpServer, host: Host): void {
  const { audit, cursorKey } = routeTools(host);
  const { db } = host;
  addJobRoutes(http, db, {
    cursorKey,
    kinds: [
      listExportsAsJobs(db, audit),
      runsAsJobs,
      verificationsAsJobs,
      listBulkAsJobs(db, audit, 'retry'),
      listBulkAsJobs(db, audit, 'purge'),
      listReplaysAsJobs(db, audit),
      versionsAsJobs,
      listCountsAsJobs(db, audit),
      listImportsAsJobs(db, audit),
    ],
  });
}
