import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LRUCache } from 'lru-cache';
import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { type Act, type Audit, noteAct } from '../../platform/audit.ts';
import { ReaderGone, write } from '../../platform/http/long-answer.ts';
import type { Log } from '../../platform/log.ts';
import {
  isObjectFault,
  type ObjectReader,
  type ObjectRef,
  type OpenObject,
} from '../../platform/objects/objects.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { createFormat } from '../formats/create-format.ts';
import { answerWatched, disposition, type SendCall } from '../send-stream.ts';
import type { FileEnds, StoredJob } from './job.ts';
import { getJob, manifestOf } from './list.ts';
import { listObjects, type PartObject } from './queries.ts';

/** What a download needs. `stallMillis` is how long a reader may take nothing. */
export type DownloadOptions = {
  readonly objects: ObjectReader;
  readonly stallMillis: number;
  readonly audit: Audit;
  readonly log: Log;
};

type FileCall = SendCall & { readonly id: string; readonly actor: Actor };

/**
 * Answers with the file of a job, or a range of it. Throws 404 `export_not_found`, 409 `export_unfinished`,
 * `export_without_file`, 410 `export_file_gone`, 416 `range_unsatisfiable`, 500 `segment_damaged`.
 */
export async function sendFile(
  db: Database,
  call: FileCall,
  options: DownloadOptions & { readonly noted: LRUCache<string, true> },
): Promise<FastifyReply> {
  const { request, reply } = call;
  const job = await getJob(db, call.actor, call.id);
  const file = fileOf(job);
  const etag = `"${file.sha256.toString('hex')}"`;
  if (matchesEtag(request.headers['if-none-match'], etag)) {
    return reply.status(304).header('etag', etag).send();
  }
  const range = rangeOf(request, etag, file.sizeBytes);
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${file.sizeBytes}`);
    throw new AppError('range_unsatisfiable', {
      detail: `The file has ${file.sizeBytes} bytes. Ask for some of those, or leave the Range out.`,
    });
  }
  const head = headers(job, file, { range, etag });
  if (request.method === 'HEAD') {
    reply.hijack();
    reply.raw.writeHead(head.status, head.fields).end();
    return reply;
  }
  const parts = await listObjects(db, job);
  const all = { start: 0, end: file.sizeBytes };
  const pieces = slicePieces(piecesOf(file.ends, parts), range ?? all);
  // A download that is continued is not audited a second time, wherever its first range began.
  const key = `${call.actor.tokenId} ${job.id}`;
  if (range === null || range.start === 0 || !options.noted.has(key)) {
    await noteDownload(db, { ...call, audit: options.audit }, job);
    options.noted.set(key, true);
  }
  const { log } = options;
  await answerWatched(call, { log, what: 'a download' }, async ({ signal, open }) => {
    const onOpen = () => open(head.status, head.fields);
    await sendPieces(reply.raw, { ...options, pieces, signal, onOpen }).catch((error: unknown) => {
      throw toDamage(error, job);
    });
    reply.raw.end();
  });
  return reply;
}

type StoredFile = { ends: FileEnds; sha256: Buffer; sizeBytes: number; rows: number };

function fileOf(job: StoredJob): StoredFile {
  const { rows } = manifestOf(job);
  const { ends, sha256, size_bytes: sizeBytes } = job;
  if (job.has_file && ends !== null && sha256 !== null) return { ends, sha256, sizeBytes, rows };
  throw new AppError('export_file_gone', {
    detail:
      job.state === 'erased'
        ? (job.error ?? 'The file was removed, because records of its slice were erased.')
        : 'The file was removed: it had expired or was deleted. Start the export again if you need it.',
  });
}

/**
 * The range to send; null means the whole file. If-Range asks for the whole file when the reader has begun another one.
 */
function rangeOf(
  { headers: { range, 'if-range': ifRange } }: FastifyRequest,
  etag: string,
  sizeBytes: number,
): ByteRange | null | 'unsatisfiable' {
  if (ifRange !== undefined && ifRange !== etag) return null;
  return parseRange(range, sizeBytes);
}

function headers(
  job: StoredJob,
  { sha256, sizeBytes, rows }: StoredFile,
  { range, etag }: { range: ByteRange | null; etag: string },
): { status: number; fields: Record<string, string | number> } {
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  return {
    status: range === null ? 200 : 206,
    fields: {
      'content-type': createFormat(job.options).mediaType,
      'content-length': end - start,
      'content-disposition': disposition(job.file_name),
      'accept-ranges': 'bytes',
      etag,
      'repr-digest': `sha-256=:${sha256.toString('base64')}:`,
      'x-record-count': rows,
      ...(range === null ? {} : { 'content-range': `bytes ${start}-${end - 1}/${sizeBytes}` }),
    },
  };
}

function noteDownload(db: Database, act: Act, job: StoredJob): Promise<void> {
  const { id: target, tenant, file_name, rows_total: rows, size_bytes: bytes } = job;
  const after = { file_name, rows, bytes };
  return noteAct(db, act, { action: 'export.download', target, tenant, after });
}

function toDamage(error: unknown, { id }: StoredJob): unknown {
  if (!isObjectFault(error)) return error;
  return new AppError('segment_damaged', {
    detail: `A part of the file of ${id} is missing or is not what was written. Start the export again; the records themselves are not concerned.`,
    cause: error,
  });
}

const chunkBytes = 256 * 1024;

type SendOptions = {
  readonly objects: ObjectReader;
  readonly pieces: readonly Piece[];
  readonly stallMillis: number;
  /** Is aborted when the reader is gone. */
  readonly signal: AbortSignal;
  /** Is called when the first piece is open. After that an error cannot be answered any more. */
  readonly onOpen: () => void;
};

/** Sends pieces at the reader's pace, each object checked. Throws ObjectMissing, ObjectDamaged, `ReaderGone`. */
async function sendPieces(response: ServerResponse, options: SendOptions): Promise<void> {
  const { objects, pieces, stallMillis, signal, onOpen } = options;
  let isOpen = false;
  for (const { ref, start, end } of pieces) {
    if (signal.aborted) throw new ReaderGone('the reader hung up');
    const opened = await objects.open(ref, { anew: true, signal });
    try {
      if (!isOpen) onOpen();
      isOpen = true;
      await sendPiece(response, opened, { start, end, stallMillis });
    } finally {
      await opened.release();
    }
  }
  if (!isOpen) onOpen();
}

async function sendPiece(
  response: ServerResponse,
  { path }: OpenObject,
  { start, end, stallMillis }: { start: number; end: number; stallMillis: number },
): Promise<void> {
  const file = createReadStream(path, { start, end: end - 1, highWaterMark: chunkBytes });
  for await (const chunk of file) await write(response, chunk as Buffer, stallMillis);
}

/** A stretch of an object that is a stretch of the file. */
export type Piece = { readonly ref: ObjectRef } & ByteRange;

/** The pieces of a file in their order: head, parts with what lies between them, tail. */
export function piecesOf(ends: FileEnds, parts: readonly PartObject[]): Piece[] {
  const { head_bytes, tail_bytes, between = [] } = ends;
  const own: ObjectRef = {
    key: ends.object_key,
    sizeBytes: head_bytes + tail_bytes,
    sha256: Buffer.from(ends.sha256, 'hex'),
  };
  const pieces: Piece[] = [];
  let [done, start] = [0, 0];
  for (const { after, bytes } of [{ after: 0, bytes: head_bytes }, ...between]) {
    pieces.push(...parts.slice(done, after).map(toPiece));
    pieces.push({ ref: own, start, end: start + bytes });
    [done, start] = [after, start + bytes];
  }
  pieces.push(...parts.slice(done).map(toPiece), { ref: own, start, end: own.sizeBytes });
  return pieces.filter((piece) => piece.end > piece.start);
}

function toPiece({ object_key: key, size_bytes: sizeBytes, sha256 }: PartObject): Piece {
  return { ref: { key, sizeBytes, sha256 }, start: 0, end: sizeBytes };
}

/** The pieces, cut to a range of the file. */
export function slicePieces(pieces: readonly Piece[], range: ByteRange): Piece[] {
  const sliced: Piece[] = [];
  let at = 0;
  for (const { ref, start, end } of pieces) {
    const from = Math.max(start, start + range.start - at);
    const to = Math.min(end, start + range.end - at);
    if (from < to) sliced.push({ ref, start: from, end: to });
    at += end - start;
  }
  return sliced;
}

/** A range of a file in bytes: `start` is the first byte, `end` is the one after the last. */
type ByteRange = { readonly start: number; readonly end: number };

/** The range of a Range header (RFC 9110 §14); null: the whole file, as for several ranges, or an odd header. */
export function parseRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | null | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const count = Math.min(Number(last), sizeBytes);
    return count === 0 ? 'unsatisfiable' : { start: sizeBytes - count, end: sizeBytes };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes) };
}

/** Whether an If-None-Match header names this tag. A weak tag counts as well, as RFC 9110 has it for this header. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '');
    return tag === '*' || tag === etag;
  });
}
