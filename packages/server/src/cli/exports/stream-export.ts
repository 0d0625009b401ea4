import {
  type Compression,
  type ExportFormat,
  fileExtension,
  type Profile,
} from '../../exports/values.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { DatasetName } from '../../records/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import type { AskedSlice } from '../empty-slice.ts';
import { formatBytes } from '../format.ts';
import { type Io, OutputClosed } from '../io.ts';
import { parsePage } from '../pages.ts';
import { afterShortWaits, interrupted } from '../retry.ts';
import { type Days, wholeMonths } from '../slice.ts';
import {
  type DownloadRequest,
  download,
  notWhole,
  type RemoteFile,
  report,
  safeName,
} from './download.ts';
import { type FileAnswer, openAnswer } from './open-answer.ts';
import { createRowCounter } from './row-counter.ts';

export type StreamRequest = {
  slice: Days & { tenant: string; store: string | undefined };
  format: ExportFormat;
  compression: Compression;
  /** The other fields of the request. */
  body: Pick<AskedSlice, 'kind' | 'version' | 'split'> & {
    dataset?: DatasetName | undefined;
    profile?: Profile | undefined;
  };
  /** How many rows the dataset version should have; null without a version, or when that is not known. */
  versionRows: number | null;
  hasHeader: boolean;
};

/**
 * Downloads an export while the service makes it. It counts and hashes what passes through, and keeps the file only
 * when both are what the service announced. Answers whether it was kept: nothing is where the digest did not come, which
 * proxies may drop, and only a job can prove the file. Throws `export_mismatch` otherwise, also where it was printed, and
 * `file_unreadable` when the file cannot be written.
 */
export async function streamExport(
  context: Context,
  client: Client,
  { asked, request }: { asked: StreamRequest; request: DownloadRequest },
): Promise<boolean> {
  const { io } = context;
  const startedAt = io.now();
  const body = { ...asked.slice, ...asked.body };
  const call = { method: 'POST', path: `/exports/${asked.format}`, body } as const;
  const answer = await afterShortWaits(io, () => openAnswer(io, client.connection, call));
  try {
    const rows = announcedRows(client, answer);
    const got = await download(context, streamedFile(io, answer, { asked, rows }), request);
    await report(context, client, got, {
      request,
      startedAt,
      asked: body,
      rows,
      compared: async () => ({
        rows: `, ${await comparison(context, client, { asked, rows })}`,
        sha256: 'equal',
      }),
    });
    return true;
  } catch (error) {
    if (!(error instanceof Unproved)) throw error;
    return false;
  } finally {
    answer.cancel();
  }
}

/** The file of an answer. It is whole when its rows and its digest are what was announced. */
function streamedFile(
  io: Io,
  answer: FileAnswer,
  { asked, rows }: { asked: StreamRequest; rows: number },
): RemoteFile {
  const counter = createRowCounter(asked);
  const soFar = (sizeBytes: number) =>
    counter === null
      ? formatBytes(sizeBytes)
      : `${formatCount(counter.rows())} of ${formatCount(rows)} rows`;
  let sizeBytes = 0;
  return {
    name: suggestName(answer, asked),
    sha256: null,
    progress: { total: counter === null ? 0 : rows, describe: () => soFar(sizeBytes) },
    async fetch(sink, onPiece) {
      try {
        await sink.begin();
        for await (const piece of answer.pieces) {
          await sink.write(piece);
          sizeBytes = sink.sizeBytes();
          await counter?.add(piece);
          onPiece(counter?.rows() ?? 0);
        }
        await counter?.end();
        return 0;
      } catch (error) {
        if (io.signal.aborted) throw interrupted();
        if (error instanceof AppError || error instanceof OutputClosed) throw error;
        throw notWhole(`it ended after ${soFar(sizeBytes)}`, sink, error);
      }
    },
    difference(sink) {
      const came = counter?.rows() ?? rows;
      if (came !== rows)
        return `${numberOf(came, 'row')} came, ${formatCount(rows)} were announced`;
      const announced = parseReprDigest(answer.trailer('repr-digest'));
      const sha256 = sink.sha256();
      if (announced === sha256) return null;
      if (announced !== null) return `its sha-256 is ${sha256}, announced was ${announced}`;
      if (!sink.isPrinted) throw new Unproved();
      const known = counter === null ? '' : ` It has the ${numberOf(rows, 'row')} announced.`;
      throw new AppError('export_mismatch', {
        detail: `Nothing proves what was printed: a proxy drops its digest, the trailer Repr-Digest.${known} Use --async.`,
      });
    },
  };
}

/** The rows of a download are as many as announced, but no digest came with it. */
class Unproved extends Error {}

function announcedRows(client: Client, { headers }: FileAnswer): number {
  const rowCount = Number(headers['x-record-count'] ?? Number.NaN);
  if (Number.isSafeInteger(rowCount)) return rowCount;
  throw new AppError('answer_unexpected', {
    detail: `${client.connection.url} answered an export without X-Record-Count. Is this the right URL?`,
  });
}

/** The name for the file: what the service suggests, or one made of the slice. */
function suggestName(answer: FileAnswer, asked: StreamRequest): string {
  const suggested = suggestedName(answer.headers['content-disposition']);
  if (suggested !== null) return suggested;
  const { tenant, store, month, from, to } = asked.slice;
  const days = month ?? (from === undefined ? undefined : `${from}_${to}`);
  const words = [tenant, store, days].filter((word) => word !== undefined);
  const extension = fileExtension(asked.format, asked.compression);
  return `${words.join('-').replace(/[^\w.-]/g, '_')}${extension}`;
}

const narrowing = ['kind', 'dataset', 'version', 'split'];

/** Says with what the number of rows was compared. */
async function comparison(
  context: Context,
  client: Client,
  { asked, rows }: { asked: StreamRequest; rows: number },
): Promise<string> {
  const { slice, body, versionRows } = asked;
  if (versionRows === rows) return 'as many as the version holds';
  const isFiltered = Object.entries(body).some(
    ([name, value]) => narrowing.includes(name) && value !== undefined,
  );
  const held = isFiltered ? null : await countLeaves(context.io, client, slice);
  if (held === null) return 'as many as announced';
  if (held === rows) return 'as many as its leaves hold';
  // Records have come in since the export took its snapshot.
  return `as many as announced (its leaves hold ${formatCount(held)} by now)`;
}

/** The SHA-256 of the header Repr-Digest (`sha-256=:…:`, RFC 9530) in hex; null when it has none. */
function parseReprDigest(value: string | undefined): string | null {
  const base64 = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]+):/.exec(value ?? '')?.[1];
  return base64 === undefined ? null : Buffer.from(base64, 'base64').toString('hex');
}

/** The file name of the header Content-Disposition, made safe as by `safeName`. */
function suggestedName(header: string | undefined): string | null {
  const encoded = /filename\*=UTF-8''([^;\s]+)/i.exec(header ?? '')?.[1];
  const plain = /filename="((?:[^"\\]|\\.)*)"|filename=([^;\s"]+)/i.exec(header ?? '');
  const name =
    encoded === undefined ? (plain?.[1] ?? plain?.[2])?.replace(/\\(.)/g, '$1') : decode(encoded);
  return name === undefined ? null : safeName(name);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const mostMonths = 36;

/**
 * How many records the leaves of a slice hold. Null when leaves cannot tell: the slice cuts through months or has too
 * many of them, or the token may export but not browse.
 */
async function countLeaves(
  io: Io,
  client: Client,
  slice: Days & { tenant: string; store: string | undefined },
): Promise<number | null> {
  const months = wholeMonths(slice);
  if (months === null || months.length > mostMonths) return null;
  const { tenant, store } = slice;
  const level = store === undefined ? 'tenant' : 'store';
  let sum = 0;
  for (const month of months) {
    let page: string;
    try {
      page = await client.text('GET /enrichment/datasets', {
        query: { tenant, store, month, level },
      });
    } catch (error) {
      if (io.signal.aborted) throw error;
      // Failing here does no harm: the export is proved by count and digest, and this only says so in other words.
      return null;
    }
    for (const row of parsePage(page).rows) sum += (JSON.parse(row) as { count: number }).count;
  }
  return sum;
}
