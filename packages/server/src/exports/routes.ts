import { availableParallelism } from 'node:os';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, callerOf } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { createGate, createSharedBudget } from '../kernel/gate.ts';
import type { Audit } from '../platform/audit.ts';
import { acceptsCoding } from '../platform/http/compress-answer.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Database } from '../platform/postgres/database.ts';
import { countSlice } from '../records/index.ts';
import { type ExportRequest, exportsContract } from './contract.ts';
import type { ExportSource } from './encode/rows.ts';
import { estimateExport } from './estimate.ts';
import { createFormat } from './formats/index.ts';
import { fileNameOf, prefersAsync, toFileOptions } from './jobs/create.ts';
import type { ExportJob } from './jobs.contract.ts';
import { createLink, findLink, takeLink } from './links.ts';
import { toSelection } from './select.ts';
import { disposition, ReaderGone, sendExport, watchCaller } from './send-stream.ts';
import { startFile } from './stream-file.ts';
import type { ExportFormat } from './values.ts';

/**
 * What the export routes need. `maxConcurrent` is how many streams may run at once in this process, and `maxPerCaller`
 * how many of them one caller may have.
 */
export type ExportOptions = Omit<ExportSource, 'db' | 'encoders'> & {
  stallMillis: number;
  maxConcurrent: number;
  maxPerCaller: number;
  /** Finds the caller behind a token's id, and checks the token again. Throws 401, 403. */
  actorOf(tokenId: string): Promise<Actor>;
  /** Makes a job instead of a file, and answers 202. */
  startJob(call: JobCall): Promise<ExportJob>;
  /** The origin of download links; undefined makes the links paths. */
  publicUrl: string | undefined;
  audit: Audit;
  log: Log;
};

/** A request for an export. With `Prefer: respond-async` it becomes a job. */
export type JobCall = {
  readonly format: ExportFormat;
  readonly body: ExportRequest;
  readonly actor: Actor;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Throws 401 or 403 once the caller may no longer have the file. */
  readonly recheck: () => Promise<unknown>;
};

type Download = JobCall & { readonly isByLink: boolean };

/**
 * How many chunks are encoded at once: one for each core, within limits. The DuckDB process runs eight queries at once,
 * some of which read pages.
 */
const encodedAtOnce = Math.min(6, Math.max(2, availableParallelism()));

/** Adds the routes that stream exports, estimate them and make download links. */
export function addExportRoutes(http: HttpServer, db: Database, options: ExportOptions): void {
  const { maxConcurrent, maxPerCaller } = options;
  const places = createSharedBudget({ total: maxConcurrent, each: maxPerCaller });
  const encoders = createGate(encodedAtOnce);
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
      await streamFile({ ...call, source: { ...options, db, encoders }, options });
    } finally {
      own.give(1);
    }
    return reply;
  }

  /** Answers with a job, a link or the file, as the request wants it. */
  async function answer(call: JobCall) {
    const { format, body, actor, request, reply } = call;
    if (prefersAsync(request)) return options.startJob(call);
    if (body.delivery !== 'link') return download({ ...call, isByLink: false });
    reply.status(201);
    const { slice } = await toSelection(db, body, actor, '/');
    const { count } = await countSlice(db, slice, options.cold);
    return db.transaction(async (connection) => {
      const link = await createLink(connection, body, {
        ...{ format, actor, rowCount: count },
        origin: options.publicUrl ?? '',
      });
      const { row_count, expires_at } = link;
      await options.audit(connection, {
        actor,
        request,
        action: 'export.link',
        target: null,
        tenant: body.tenant,
        after: { ...body, format, row_count, expires_at },
      });
      return link;
    });
  }

  http.route(exportsContract.exportCsv, (call) => answer({ ...call, format: 'csv' }));
  http.route(exportsContract.exportNdjson, (call) => answer({ ...call, format: 'ndjson' }));
  http.route(exportsContract.exportParquet, (call) => answer({ ...call, format: 'parquet' }));
  http.route(exportsContract.downloadExport, async ({ params, request, reply }) => {
    const isHead = request.method === 'HEAD';
    const { tokenId, ...link } = await (isHead ? findLink : takeLink)(db, params.code);
    const recheck = () => options.actorOf(tokenId);
    const actor = await recheck();
    if (isHead) return describeFile({ db, ...link, actor, reply });
    return download({ ...link, actor, request, reply, recheck, isByLink: true });
  });
  http.route(exportsContract.estimateExport, async ({ query, actor }) => {
    const { profile, ...selection } = query;
    const { slice } = await toSelection(db, selection, actor, '?');
    return estimateExport({ db, cold: options.cold }, slice, profile);
  });
}

/** Answers HEAD with what is known of a download without making the file. */
async function describeFile({
  db,
  format,
  body,
  actor,
  reply,
}: Pick<JobCall, 'format' | 'body' | 'actor' | 'reply'> & { db: Database }): Promise<FastifyReply> {
  const selection = await toSelection(db, body, actor, '/');
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
  const selection = await toSelection(source.db, body, actor, '/');
  const { slice } = selection;
  const fileOptions = toFileOptions(call.format, body, slice);
  const format = createFormat(fileOptions);
  const { compression } = fileOptions;
  const parts = selection.version?.parts ?? null;
  const file = startFile(source, { format, compression, slice, parts });
  // Without this, a reader that hangs up would be noticed only when the next row is sent, which may take long.
  const response = reply.raw;
  let isGone = false;
  let refusal: AppError | undefined;
  const onClose = () => {
    isGone = refusal === undefined;
    void file.close();
  };
  response.on('close', onClose);
  const endWatch = watchCaller(call.recheck, (error) => {
    refusal = error;
    void file.close();
    if (response.headersSent) response.destroy();
  });
  try {
    const rowCount = await file.rowCount;
    // The audit entry is written before the first byte, so that nothing leaves the service unrecorded.
    await options.audit(source.db, {
      actor,
      request,
      action: `export.${call.format}`,
      target: null,
      tenant: body.tenant,
      after: { ...body, delivery: call.isByLink ? 'link' : 'stream', row_count: rowCount },
    });
    // Compressing a compressed file does not make it smaller.
    const isCompressed = call.format === 'parquet' || compression !== 'none';
    const gzip = !isCompressed && acceptsCoding(request.headers['accept-encoding'], 'gzip');
    const head = {
      'content-type': format.mediaType,
      'content-disposition': disposition(fileNameOf(body, selection, fileOptions)),
      'x-record-count': rowCount,
      trailer: 'Repr-Digest',
      vary: 'accept-encoding',
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
    };
    // From here on an error cannot be answered any more; the connection can only be reset.
    reply.hijack();
    response.writeHead(200, head);
    response.flushHeaders();
    await sendExport(response, file, { gzip, stallMillis: options.stallMillis });
  } catch (error) {
    // Nobody is left to receive an answer.
    if (isGone) reply.hijack();
    if (!reply.sent) throw refusal ?? error;
    const isExpected = isGone || refusal || error instanceof ReaderGone;
    // What is away for a while is no mistake of ours.
    const isAway = error instanceof AppError && error.status === 503;
    const level = isExpected ? 'info' : isAway ? 'warn' : 'error';
    options.log[level]({ err: refusal ?? error, reqId: request.id }, 'export ended early');
    // Without the last chunk and the trailer, what arrived cannot look whole.
    response.destroy();
  } finally {
    endWatch();
    response.off('close', onClose);
    await file.close();
  }
}
