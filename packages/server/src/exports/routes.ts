import { availableParallelism } from 'node:os';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { createGate, type Gate } from '../kernel/gate.ts';
import type { Audit } from '../platform/audit.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Database } from '../platform/postgres/database.ts';
import { measureSlice, type Slice, toSlice } from '../records/index.ts';
import { type CsvRequest, exportColumns, exportsContract } from './contract.ts';
import { createLink, takeLink } from './links.ts';
import { ReaderGone, sendExport } from './send-stream.ts';
import { type CsvSource, startCsvExport } from './stream-csv.ts';

export type ExportOptions = Omit<CsvSource, 'db' | 'encoders'> & {
  stallMillis: number;
  maxConcurrent: number;
  /** The caller behind a token's id, checked anew. Throws 401, 403. */
  actorOf(tokenId: string): Promise<Actor>;
  audit: Audit;
  log: Log;
};

type Download = {
  body: CsvRequest;
  actor: Actor;
  request: FastifyRequest;
  reply: FastifyReply;
  isByLink: boolean;
};

/** One a core; the DuckDB process runs eight queries at once, and some of them are pages. */
const encodedAtOnce = Math.min(6, Math.max(2, availableParallelism()));

export function addExportRoutes(http: HttpServer, db: Database, options: ExportOptions): void {
  let running = 0;
  const encoders = createGate(encodedAtOnce);
  async function download(call: Download): Promise<FastifyReply> {
    const { body, actor, request, reply } = call;
    if (request.raw.httpVersionMinor === 0) {
      throw new AppError('http_version_unsupported', {
        detail:
          'An export is sent in chunks, by which a cut one is told from a whole one: use HTTP/1.1. In nginx: proxy_http_version 1.1.',
      });
    }
    const slice = toSlice(body, actor, '/');
    if (running >= options.maxConcurrent) {
      throw new AppError('exports_busy', {
        detail: `${running} exports are running already. Try again when one has ended.`,
        retryAfterSeconds: 5,
      });
    }
    running += 1;
    try {
      await streamCsv({ ...call, db, slice, encoders, options });
    } finally {
      running -= 1;
    }
    return reply;
  }

  http.route(exportsContract.exportCsv, async ({ body, actor, request, reply }) => {
    if (body.delivery !== 'link') return download({ body, actor, request, reply, isByLink: false });
    reply.status(201);
    const { count } = await measureSlice(db, toSlice(body, actor, '/'), options.cold);
    return db.transaction(async (connection) => {
      const link = await createLink(connection, body, { actor, rowCount: count });
      const { row_count, expires_at } = link;
      await options.audit(connection, {
        actor,
        request,
        action: 'export.link',
        target: null,
        tenant: body.tenant,
        after: { ...body, row_count, expires_at },
      });
      return link;
    });
  });
  http.route(exportsContract.downloadExport, async ({ params, request, reply }) => {
    const link = await takeLink(db, params.code);
    const { body, tokenId } = link;
    const actor = await options.actorOf(tokenId);
    return download({ body, actor, request, reply, isByLink: true });
  });
  http.route(exportsContract.estimateExport, async ({ query, actor }) => {
    const { count, bytes } = await measureSlice(db, toSlice(query, actor, '?'), options.cold);
    return { rows: count, bytes };
  });
}

async function streamCsv(
  call: Download & { db: Database; slice: Slice; encoders: Gate; options: ExportOptions },
): Promise<void> {
  const { db, slice, encoders, body, actor, request, reply, options } = call;
  const { columns = exportColumns, header = true, profile = 'machine' } = body;
  const csv = startCsvExport({ db, encoders, ...options }, slice, { columns, header, profile });
  // Otherwise a reader that hangs up would be noticed at the next row, which may be long in coming.
  const response = reply.raw;
  let isGone = false;
  const onClose = () => {
    isGone = true;
    void csv.close();
  };
  response.on('close', onClose);
  try {
    const rowCount = await csv.rowCount;
    // Before the first byte: nothing leaves that is not written down.
    await options.audit(db, {
      actor,
      request,
      action: 'export.csv',
      target: null,
      tenant: body.tenant,
      after: { ...body, delivery: call.isByLink ? 'link' : 'stream', row_count: rowCount },
    });
    const gzip = acceptsGzip(request.headers['accept-encoding']);
    const head = {
      'x-request-id': request.id,
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': disposition(fileName(slice)),
      'x-record-count': rowCount,
      trailer: 'Repr-Digest',
      'cache-control': 'no-store',
      vary: 'accept-encoding',
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
    };
    // From here on there is no answering with an error, only resetting.
    reply.hijack();
    response.writeHead(200, head);
    response.flushHeaders();
    await sendExport(response, csv, { gzip, stallMillis: options.stallMillis });
  } catch (error) {
    // Nobody is there any more whom an answer could reach.
    if (isGone) reply.hijack();
    if (!reply.sent) throw error;
    const level = isGone || error instanceof ReaderGone ? 'info' : 'error';
    options.log[level]({ err: error, reqId: request.id }, 'export ended early');
    // Without the last chunk and the trailer, what arrived cannot look whole.
    response.destroy();
  } finally {
    response.off('close', onClose);
    await csv.close();
  }
}

/** Such as `TX_DFW_2001-01-01_2001-03-31.csv`. */
function fileName(slice: Slice): string {
  const last =
    slice.until && new Date(Date.parse(slice.until) - 86_400_000).toISOString().slice(0, 10);
  const parts = [slice.tenant, slice.store, slice.from, last, slice.kind, slice.dataset];
  return `${parts.filter((part) => part !== undefined).join('_')}.csv`;
}

/** RFC 6266: plain where it can be, UTF-8 beside it where it cannot. */
function disposition(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '-');
  const full = plain === name ? '' : `; filename*=UTF-8''${percentEncoded(name)}`;
  return `attachment; filename="${plain}"${full}`;
}

/** RFC 8187. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .split(',')
    .some((part) => /^\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$)[\d.]+\s*)?$/i.test(part));
}
