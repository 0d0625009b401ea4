import { availableParallelism } from 'node:os';
import type { FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Actor, callerOf, requireCurrentSecret, withinStore } from '../kernel/actor.ts';
import { AppError, invalidInput } from '../kernel/errors.ts';
import { createGate, createSharedBudget } from '../kernel/gate.ts';
import { basePath } from '../kernel/values.ts';
import type { NoteRead } from '../platform/audit.ts';
import { acceptsCoding } from '../platform/http/compress-answer.ts';
import { type HttpServer, untilGone } from '../platform/http/server.ts';
import { refuseReadOnly, type StoreFence } from '../platform/objects/fence.ts';
import type { Database } from '../platform/postgres/database.ts';
import { countInParts } from '../records/index.ts';
import { type ExportRequest, exportsContract } from './contract.ts';
import type { ExportSource } from './encode/rows.ts';
import { estimateExport } from './estimate.ts';
import { createFormat } from './formats/create-format.ts';
import { createJob, fileNameOf, prefersAsync, toFileOptions } from './jobs/create.ts';
import { type DownloadOptions, sendFile } from './jobs/file.ts';
import { toExportJob } from './jobs/job.ts';
import { cancelJob, getJob, getManifest, listJobs } from './jobs/list.ts';
import { exportJobsContract } from './jobs.contract.ts';
import { createLink, findLink, takeLink } from './links.ts';
import { previewLines } from './preview-lines.ts';
import { toSelection } from './select.ts';
import { answerWatched, disposition, type SendCall, sendExport } from './send-stream.ts';
import { startFile } from './stream-file.ts';
import type { FindSchema } from './typed/find-schema.ts';
import { previewTemplate } from './typed/preview-template.ts';
import type { ExportFormat, JobFormat } from './values.ts';

/** `maxConcurrent`: streams that run at once in this process; `maxPerCaller`: how many of them one caller may have. */
type ExportOptions = Omit<ExportSource, 'db' | 'encoders'> &
  DownloadOptions & {
    readonly findSchema: FindSchema;
    readonly maxConcurrent: number;
    readonly maxPerCaller: number;
    /** Finds the caller behind a token's id, and checks the token again. Throws 401, 403. */
    actorOf(tokenId: string): Promise<Actor>;
    /** The origin of download links; undefined makes the links paths. */
    readonly publicUrl: string | undefined;
    readonly fence: Pick<StoreFence, 'isReadOnly'>;
    readonly cursorKey: () => Buffer;
    readonly noteRead: NoteRead;
    /** The work on jobs in this process, which is told of those that are made here. */
    readonly jobs: { poke(): void };
  };

/** A request for an export. With `Prefer: respond-async` it becomes a job. */
type ExportCall = SendCall & {
  readonly format: ExportFormat;
  readonly body: ExportRequest;
  readonly actor: Actor;
};

/** By a link it is used up when there is room for the file: who is told to try again has it still. */
type Download = ExportCall & { readonly useUp?: () => Promise<unknown> };

/** So many chunks are encoded at once: the DuckDB process runs eight queries at once, some of which read pages. */
const encodedAtOnce = Math.min(6, Math.max(2, availableParallelism()));

/** Adds the routes that stream exports, estimate them and make download links, and those of jobs. */
export function addExportRoutes(http: HttpServer, db: Database, options: ExportOptions): void {
  const { maxConcurrent, maxPerCaller } = options;
  const places = createSharedBudget({ total: maxConcurrent, each: maxPerCaller });
  const encoders = createGate(encodedAtOnce);
  const { findSchema } = options;
  async function download(call: Download): Promise<FastifyReply> {
    const { request, reply } = call;
    if (request.raw.httpVersionMinor === 0) {
      throw new AppError('http_version_unsupported', {
        detail:
          'An export is sent in chunks, by which a cut one is told from a whole one: use HTTP/1.1. In nginx: proxy_http_version 1.1.',
      });
    }
    const own = places.of(callerOf(call.actor));
    if (!own.take(1)) {
      throw new AppError('exports_busy', {
        detail: `At once run at most ${maxConcurrent} exports, and ${maxPerCaller} of one token or of the tokens limited to the same tenants. Try again when one has ended, or ask for a job: Prefer: respond-async.`,
        retryAfterSeconds: 5,
      });
    }
    try {
      await call.useUp?.();
      await streamFile({ ...call, source: { ...options, db, encoders }, options });
    } finally {
      own.give(1);
    }
    return reply;
  }

  /** Answers with a job, a link or the file, as the request wants it. */
  async function answer(call: ExportCall) {
    const { format, body, actor, request, reply } = call;
    if (prefersAsync(request)) return startJob(db, { ...call, findSchema }, options);
    const ofJobs = (['typed', 'template'] as const).find((name) => body[name]);
    if (ofJobs !== undefined) {
      throw invalidInput(`/${ofJobs}`, 'goes with the header Prefer: respond-async, as a job');
    }
    if (body.delivery !== 'link') return download(call);
    requireCurrentSecret(actor);
    reply.status(201);
    const signal = untilGone(reply);
    const { slice, version } = await toSelection(db, body, actor, { place: '/' });
    const parts = version?.parts;
    const { count } = await countInParts({ ...options, db }, slice, { parts, signal });
    return db.transaction(async (connection) => {
      const of = { format, actor, rowCount: count, origin: options.publicUrl ?? '' };
      const link = await createLink(connection, body, of);
      const { row_count, expires_at } = link;
      const after = { ...body, format, row_count, expires_at };
      const entry = { action: 'export.link', target: null, tenant: body.tenant, after };
      await options.audit(connection, { actor, request, ...entry });
      return link;
    });
  }

  http.route(exportsContract.exportCsv, (call) => answer({ ...call, format: 'csv' }));
  http.route(exportsContract.exportNdjson, (call) => answer({ ...call, format: 'ndjson' }));
  http.route(exportsContract.exportParquet, (call) => answer({ ...call, format: 'parquet' }));
  http.route(exportsContract.exportBundle, (call) =>
    startJob(db, { ...call, format: 'bundle', findSchema }, options),
  );
  http.route(exportsContract.downloadExport, async ({ params, request, reply }) => {
    const isHead = request.method === 'HEAD';
    const { tokenId, ...link } = await findLink(db, params.code);
    const recheck = () => options.actorOf(tokenId);
    const actor = withinStore(await recheck(), link.body);
    if (isHead) return describeFile({ db, ...link, actor, reply });
    const useUp = () => takeLink(db, params.code);
    return download({ ...link, actor, request, reply, recheck, useUp });
  });
  http.route(exportsContract.estimateExport, async ({ query, actor, reply }) => {
    const { profile, ...asked } = query;
    const signal = untilGone(reply);
    const selection = await toSelection(db, asked, actor, { place: '?' });
    return estimateExport({ db, cold: options.cold }, selection, { profile, signal });
  });
  http.route(exportsContract.inferSchema, async ({ query, actor }) =>
    findSchema(await toSelection(db, query, actor, { place: '?', isJob: true }), {
      countsMisfits: true,
    }),
  );
  http.route(exportsContract.previewTemplate, async ({ body, actor, request }) => {
    const { template, ...selection } = body;
    const { slice } = await toSelection(db, selection, actor, { place: '/', isJob: true });
    return options.noteRead({ actor, request }, { by: 'preview', ...body }, () =>
      previewTemplate({ db, cold: options.cold }, slice, template),
    );
  });
  http.route(exportsContract.previewExport, async ({ body, actor, request }) => {
    const { format, ...asked } = body;
    const { slice } = await toSelection(db, asked, actor, { place: '/', isJob: true });
    return options.noteRead({ actor, request }, { by: 'preview', ...body }, () =>
      previewLines({ db, cold: options.cold }, slice, toFileOptions(format, asked, slice)),
    );
  });
  addJobRoutes(http, db, options);
}

function addJobRoutes(http: HttpServer, db: Database, options: ExportOptions): void {
  const { audit } = options;
  // Whoever goes on with a file after ten minutes, or at another process, is noted once more.
  const noted = new LRUCache<string, true>({ max: 10_000, ttl: 600_000 });
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
    sendFile(db, { id: params.id, ...call }, { ...options, noted }),
  );
  http.route(exportJobsContract.cancelExport, async ({ params, actor, request }) =>
    toExportJob(await cancelJob(db, { id: params.id, actor, request, audit })),
  );
}

/** Makes a job instead of a file, and answers 202 with it. Throws what `createJob` throws. */
async function startJob(
  db: Database,
  call: Omit<ExportCall, 'format'> & { format: JobFormat; findSchema: FindSchema },
  { fence, audit, jobs }: ExportOptions,
) {
  refuseReadOnly(fence);
  const job = await createJob(db, { ...call, audit });
  jobs.poke();
  call.reply
    .status(202)
    .header('location', `${basePath}/exports/${job.id}`)
    .header('preference-applied', 'respond-async');
  return job;
}

/** Answers HEAD with what is known of a download without making the file. */
async function describeFile({
  db,
  format,
  body,
  actor,
  reply,
}: Pick<ExportCall, 'format' | 'body' | 'actor' | 'reply'> & {
  db: Database;
}): Promise<FastifyReply> {
  const selection = await toSelection(db, body, actor, { place: '/' });
  const fileOptions = toFileOptions(format, body, selection.slice);
  reply.hijack();
  reply.raw
    .writeHead(200, {
      'content-type': createFormat(fileOptions).mediaType,
      'content-disposition': disposition(fileNameOf(body, selection, fileOptions)),
    })
    .end();
  return reply;
}

async function streamFile(
  call: Download & { source: ExportSource; options: ExportOptions },
): Promise<void> {
  const { source, body, actor, request, reply, options } = call;
  const selection = await toSelection(source.db, body, actor, { place: '/' });
  const { slice } = selection;
  const fileOptions = toFileOptions(call.format, body, slice);
  const format = createFormat(fileOptions);
  const { compression } = fileOptions;
  const parts = selection.version?.parts ?? null;
  const file = startFile(source, { format, compression, slice, parts });
  const { log } = options;
  try {
    await answerWatched(call, { log, what: 'export' }, async ({ signal, open }) => {
      signal.addEventListener('abort', () => void file.close());
      const rowCount = await file.rowCount;
      signal.throwIfAborted();
      // The audit entry is written before the first byte, so that nothing leaves the service unrecorded.
      await options.audit(source.db, {
        actor,
        request,
        action: `export.${call.format}`,
        target: null,
        tenant: body.tenant,
        after: {
          ...body,
          delivery: call.useUp === undefined ? 'stream' : 'link',
          row_count: rowCount,
        },
      });
      // Compressing a compressed file does not make it smaller.
      const isCompressed = call.format === 'parquet' || compression !== 'none';
      const gzip = !isCompressed && acceptsCoding(request.headers['accept-encoding'], 'gzip');
      open(200, {
        'content-type': format.mediaType,
        'content-disposition': disposition(fileNameOf(body, selection, fileOptions)),
        'x-record-count': rowCount,
        trailer: 'Repr-Digest',
        vary: 'accept-encoding',
        ...(gzip ? { 'content-encoding': 'gzip' } : {}),
      });
      reply.raw.flushHeaders();
      await sendExport(reply.raw, file, { gzip, stallMillis: options.stallMillis });
    });
  } finally {
    await file.close();
  }
}
