import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import zlib from 'node:zlib';
import { AppError } from '../../kernel/errors.ts';
import { transformed } from '../work/transformed.ts';
import type { RouteContract } from './contract.ts';

/** The body of a request that is read while it comes, once. */
export type Body = {
  /** Whether the body is NDJSON, to be read line by line; otherwise it is one JSON document. */
  readonly isStream: boolean;
  /** The size that the client announced; null when it announced none, or when the body is compressed. */
  readonly sizeBytes: number | null;
  /** Returns how many bytes have been received so far, counted before they are decompressed. */
  sentBytes(): number;
  /** Yields the decompressed bytes. Throws 400 `body_encoding_invalid` when they cannot be decompressed. */
  chunks(): AsyncGenerator<Buffer>;
  /** Reads and drops the rest of the body, within limits. A client that is still sending would not read the answer. */
  discard(): Promise<void>;
};

const discardBytes = 64 * 1024 * 1024;
const discardMillis = 5_000;
const idleMillis = 60_000;

// NDJSON has no registered media type; these are the names in use.
const streamTypes = ['ndjson', 'x-ndjson', 'jsonl', 'x-jsonl', 'jsonlines', 'x-jsonlines'].map(
  (name) => `application/${name}`,
);

/** Whether the handler reads the body itself. */
export function isStreamed(
  { body, streamedBody }: Pick<RouteContract, 'body' | 'streamedBody'>,
  request: Pick<IncomingMessage, 'headers'>,
): boolean {
  if (streamedBody === undefined || body === undefined) return streamedBody !== undefined;
  return !isJson(request);
}

export function isJson({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return /^application\/json *(;|$)/i.test(headers['content-type'] ?? '');
}

/** Reads the headers of a request with a body. Throws 415 for an unknown type or coding; `wanted` says what to send. */
export function readBody(
  request: IncomingMessage,
  wanted: { readonly document: string; readonly item: string },
): Body {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  const isStream = type !== undefined && streamTypes.includes(type);
  if (type !== 'application/json' && !isStream) {
    throw new AppError('media_type_unsupported', {
      detail: `Send application/json (${wanted.document}), or ${wanted.item} a line as application/x-ndjson or application/jsonl.`,
    });
  }
  const decoder = createDecoder(request.headers['content-encoding']);
  const received = { bytes: 0 };
  const announced = Number(request.headers['content-length']);
  return {
    isStream,
    sizeBytes: decoder === null && Number.isSafeInteger(announced) ? announced : null,
    sentBytes: () => received.bytes,
    chunks() {
      const chunks = plainChunks(request, received);
      return decoder === null ? chunks : decodedChunks(chunks, decoder, request.socket);
    },
    discard: () => discard(request),
  };
}

/** A body that comes from a file of this machine, to be checked without a service. */
export function fileBody(
  chunks: AsyncGenerator<Buffer>,
  { isStream, isCoded }: { isStream: boolean; isCoded: boolean },
): Body {
  let sent = 0;
  async function* counted() {
    for await (const chunk of chunks) {
      sent += chunk.length;
      yield chunk;
    }
  }
  return {
    isStream,
    sizeBytes: null,
    sentBytes: () => sent,
    chunks: () => (isCoded ? decodedChunks(counted(), zlib.createGunzip()) : counted()),
    discard: async () => {},
  };
}

function createDecoder(coding = 'identity'): zlib.Gunzip | null {
  switch (coding.trim().toLowerCase()) {
    case 'identity':
      return null;
    case 'gzip':
      return zlib.createGunzip();
    case 'zstd':
      // Node has zstd from version 22.15 on.
      if ('createZstdDecompress' in zlib) {
        return (zlib.createZstdDecompress as () => zlib.Gunzip)();
      }
  }
  throw new AppError('content_encoding_unsupported', {
    detail: `The coding ${coding} is not taken here. Send the body as gzip or as it is.`,
  });
}

async function* plainChunks(
  request: IncomingMessage,
  received: { bytes: number },
): AsyncGenerator<Buffer> {
  // A sender that pauses for ever or has vanished must not keep its share of the bytes in flight.
  const fallSilent = () => request.destroy(new Error('the sender fell silent'));
  request.on('timeout', fallSilent);
  // The stream's own iterator would destroy the request on an early return, and with it the connection on which the
  // answer is sent.
  const chunks = request.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      // The clock runs only while we wait for the sender. The time that storing takes is not the sender's silence.
      request.setTimeout(idleMillis);
      const { value, done } = await chunks.next();
      request.setTimeout(0);
      if (done) return;
      received.bytes += (value as Buffer).length;
      yield value as Buffer;
    }
  } catch (error) {
    // Whatever ends the reading comes of a client that hung up, also when all it sent had come and was not read yet.
    throw new AppError('request_aborted', { cause: error });
  } finally {
    request.setTimeout(0);
    request.off('timeout', fallSilent);
    await chunks.return?.();
  }
}

async function* decodedChunks(
  chunks: AsyncIterable<Buffer>,
  decoder: zlib.Gunzip,
  connection?: Socket,
): AsyncGenerator<Buffer> {
  // A few kilobytes that have all come may hold a minute of work, which is for nobody once the client is gone.
  const stop = () => decoder.destroy(new AppError('request_aborted'));
  connection?.once('close', stop);
  try {
    yield* transformed(chunks, decoder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && /^(Z_|ZSTD)/.test(String(error.code))) {
      const isOther = /header check|Unknown frame/.test(error.message);
      throw new AppError('body_encoding_invalid', {
        detail: isOther
          ? 'The body is not compressed as its Content-Encoding says. Send it without that header; svcctl takes a file as gzip when its name ends in .gz.'
          : `The body is not whole as its Content-Encoding says: ${error.message}.`,
        cause: error,
      });
    }
    throw error;
  } finally {
    connection?.off('close', stop);
  }
}

function discard(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let bytes = 0;
    const done = () => {
      clearTimeout(timer);
      request.off('data', count).off('end', done).off('close', done).off('error', done);
      request.pause();
      resolve();
    };
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > discardBytes) done();
    };
    const timer = setTimeout(done, discardMillis);
    request.on('data', count).on('end', done).on('close', done).on('error', done);
    request.resume();
  });
}

/** What does not begin as text does, and what to send in its place. */
const foreignBodies: readonly (readonly [begin: RegExp, advice: string])[] = [
  [
    /^\x1f\x8b/,
    'The body is gzip, and the request does not say so. Send it with Content-Encoding: gzip; svcctl does so for a file whose name ends in .gz.',
  ],
  [
    /^\x28\xb5\x2f\xfd/,
    'The body is zstd, and the request does not say so. Send it with Content-Encoding: zstd, or unpack it first: zstd -dc FILE.',
  ],
  [/^PK\x03\x04/, 'The body is a ZIP archive. Unpack it, and send its files.'],
  [
    /^PAR1/,
    "The body is Parquet. Send a JSON object a line; DuckDB makes that of it with COPY (FROM 'x.parquet') TO 'x.ndjson' (FORMAT json).",
  ],
  [/^BZh/, 'The body is bzip2. Unpack it first: bzip2 -dc FILE.'],
  [/^\xfd7zXZ/, 'The body is xz. Unpack it first: xz -dc FILE.'],
  [/^(\xff\xfe|\xfe\xff)/, utf16('UTF-16')],
  [/^[{[]\0[^\0]\0/, utf16('UTF-16LE')],
  [/^\0[{[]\0[^\0]/, utf16('UTF-16BE')],
];

function utf16(encoding: string): string {
  return `The body is UTF-16; JSON is sent as UTF-8. Convert it: iconv -f ${encoding} -t UTF-8 FILE.`;
}

/** Throws 400 `body_encoding_invalid` when a body begins like something else than text in UTF-8. */
export function assertText(begin: Buffer): void {
  // Nearly every body begins so.
  if (begin[0] === 0x7b && begin[1] !== 0) return;
  const text = begin.toString('latin1', 0, 8);
  const detail = foreignBodies.find(([magic]) => magic.test(text))?.[1];
  if (detail !== undefined) throw new AppError('body_encoding_invalid', { detail });
}

/** What a body may cost even without records. Each byte of a record pays for further cost. */
const freeCost = 256 * 2 ** 20;
const paidByByte = 1024;
/** A record pays for its own white space and at most this much more: four thousand faults. */
const mostPaidByRecord = 2 ** 20;
/** Each byte sent limits what the records pay for in all: the same record repeated compresses to nearly nothing. */
const paidBySentByte = 8192;
/** The cost of a blank byte. 8 MiB of them are free, and 32 for each byte of a record. */
const blankCost = 32;
/** A line that is no record costs its bytes, and at least this much: a million of such lines are free. */
const leastFaultCost = 256;
/** The cost of a byte of a line that is longer than any record may be. 32 MiB of them are free. */
const overlongCost = 8;

/**
 * Weighs what a body holds besides records against its records. Without it, a few kilobytes of compressed blanks, or of
 * lines with one letter, would keep the service busy for half a minute, and compressed with zstd for hours.
 * Pretty-printed records and lines of fixed width stay far below the limit, and so does a file with one good record for
 * each thousand faulty ones. Throws 413 `body_mostly_empty`.
 */
export class Content {
  #cost = 0;
  #paid = 0;
  readonly #sentBytes: () => number;

  /** `sentBytes` returns how many bytes have come over the network so far, before they are decompressed. */
  constructor(sentBytes: () => number) {
    this.#sentBytes = sentBytes;
  }

  /** Adds a record of `bytes` that took up `takenBytes` of the body; the difference is white space and long escapes. */
  addRecord(bytes: number, takenBytes: number): void {
    const ownCost = Math.max(0, takenBytes - bytes) * blankCost;
    this.#cost += ownCost;
    this.#paid += Math.min(bytes * paidByByte, ownCost + mostPaidByRecord);
    this.#check();
  }

  addFault(bytes: number): void {
    this.#cost += Math.max(leastFaultCost, bytes);
    this.#check();
  }

  /** Adds bytes of a line that is longer than any record may be, as they arrive: it may never end. */
  addOverlong(bytes: number): void {
    this.#cost += bytes * overlongCost;
    this.#check();
  }

  addBlanks(bytes: number): void {
    this.#cost += bytes * blankCost;
    this.#check();
  }

  #check(): void {
    if (this.#cost <= freeCost) return;
    const paid = Math.min(this.#paid, this.#sentBytes() * paidBySentByte);
    if (this.#cost <= freeCost + paid) return;
    throw new AppError('body_mostly_empty', {
      detail:
        'White space, or lines that are no records, are nearly all that the body holds. It may have 8 MiB of blanks and 32 for each byte of its records; of lines that are no records a million, and a thousand for each that is one; of lines longer than any record 32 MiB. A body that shrinks to nothing when compressed may have less. Look at what writes it.',
    });
  }
}
