import type { FastifyReply } from 'fastify';
import type { HttpServer } from '../../platform/http/server.ts';
import type { StoreFence } from '../../platform/objects/fence.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { exportJobsContract } from '../jobs.contract.ts';
import { type CreateCall, createJob } from './create.ts';
import { type DownloadOptions, sendFile } from './file.ts';
import { toExportJob } from './job.ts';
import { cancelJob, getJob, getManifest, listJobs } from './list.ts';
import { removeEndedFiles } from './sweep.ts';

export type JobRouteOptions = DownloadOptions & {
  readonly store: ObjectStore;
  readonly fence: Pick<StoreFence, 'advance' | 'assertOwn'>;
  readonly cursorKey: () => Buffer;
  /** Is called when a job was made here. */
  readonly poke: () => void;
  /** Is called when a job was cancelled here. */
  readonly cancel: (id: string) => void;
};

/** Adds the routes of export jobs. */
export function addJobRoutes(http: HttpServer, db: Database, options: JobRouteOptions): void {
  const { audit, log, store, fence } = options;
  http.route(exportJobsContract.listExports, ({ query, actor }) =>
    listJobs(db, options.cursorKey(), actor, query),
  );
  http.route(exportJobsContract.getExport, async ({ params, actor }) =>
    toExportJob(await getJob(db, actor, params.id)),
  );
  http.route(exportJobsContract.getManifest, ({ params, actor }) =>
    getManifest(db, actor, params.id),
  );
  http.route(exportJobsContract.downloadFile, ({ params, ...call }) =>
    sendFile(db, { id: params.id, ...call }, options),
  );
  http.route(exportJobsContract.cancelExport, async ({ params, actor, request }) => {
    const { job, was } = await cancelJob(db, { id: params.id, actor, request, audit });
    if (was === 'open') options.cancel(job.id);
    if (was === 'completed') {
      // For callers the file is gone already. What cannot be removed now is removed by a later sweep.
      await removeEndedFiles({ db, store, fence }, job, AbortSignal.timeout(removeMillis)).catch(
        (err: unknown) => log.warn({ err, exportId: job.id }, 'a file of an export stays for now'),
      );
    }
    return toExportJob(job);
  });
}

const removeMillis = 30_000;

/** Makes a job instead of a file, and answers 202 with it. Throws what `createJob` throws. */
export async function answerWithJob(
  db: Database,
  call: CreateCall & { reply: FastifyReply; poke: () => void },
) {
  const job = await createJob(db, call);
  call.poke();
  call.reply
    .status(202)
    .header('location', `/api/v1/exports/${job.id}`)
    .header('preference-applied', 'respond-async');
  return job;
}
