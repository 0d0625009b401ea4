import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { AppError } from '../../kernel/errors.ts';

export type Body = {
  /** NDJSON, to be read line by line; otherwise one JSON document. */
  readonly isStream: boolean;
  /** As announced; null when it was not, or is coded. */
  readonly sizeBytes: number | null;
  /** How many bytes have been received by now, as they are coded. */
  sentBytes(): number;
  /** The decoded bytes. Ends with `body_encoding_invalid` when they do not decode. */
  chunks(): AsyncGenerator<Buffer>;
  /** Reads and drops what is left, within bounds, so that the client gets to read the answer. */
  discard(): Promise<void>;
};

const discardBytes = 64 * 1024 * 1024;
const discardMillis = 5_000;
const idleMillis = 60_000;

/** NDJSON has no registered name: these are the ones it goes by. */
const streamTypes = ['ndjson', 'x-ndjson', 'jsonl', 'x-jsonl', 'jsonlines', 'x-jsonlines'].map(
  (name) => `application/${name}`,
);

/** Throws 415 unless type and coding of the body are ones we read. */
export function readBody(request: IncomingMessage): Body {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  const isStream = type !== undefined && streamTypes.includes(type);
  if (type !== 'application/json' && !isStream) {
    throw new AppError('media_type_unsupported', {
      detail:
        'Send application/json ({"records":[…]}), or a record a line as application/x-ndjson or application/jsonl.',
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
      return decoder === null ? chunks : decodedChunks(chunks, decoder);
    },
    discard: () => discard(request),
  };
}

function createDecoder(coding = 'identity'): zlib.Gunzip | null {
  switch (coding.trim().toLowerCase()) {
    case 'identity':
      return null;
    case 'gzip':
      return zlib.createGunzip();
    case 'zstd':
      // Node has it from 22.15 on.
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
  // A sender that sleeps, or has vanished, must not hold its share of what is in flight for ever.
  const fallSilent = () => request.destroy(new Error('the sender fell silent'));
  request.on('timeout', fallSilent);
  // Not the stream's own end at an early return: that would destroy the request, and with it the
  // connection that the answer goes out on.
  const chunks = request.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      // Counted only while we wait for it: what we take to store is not its silence.
      request.setTimeout(idleMillis);
      const { value, done } = await chunks.next();
      request.setTimeout(0);
      if (done) return;
      received.bytes += (value as Buffer).length;
      yield value as Buffer;
    }
  } catch (error) {
    throw aborted(request, error);
  } finally {
    request.setTimeout(0);
    request.off('timeout', fallSilent);
    await chunks.return?.();
  }
}

/** The client hung up; or else the error as it is. */
function aborted(request: IncomingMessage, cause: unknown): unknown {
  return request.complete ? cause : new AppError('request_aborted', { cause });
}

async function* decodedChunks(chunks: AsyncIterable<Buffer>, decoder: zlib.Gunzip) {
  // Not pipe(): it does not pass on that the client has hung up, perhaps before we got here.
  const feeding = feed(decoder, chunks);
  try {
    for await (const chunk of decoder as Readable) yield chunk as Buffer;
    await feeding;
  } catch (error) {
    if (error instanceof Error && 'code' in error && /^(Z_|ZSTD)/.test(String(error.code))) {
      throw new AppError('body_encoding_invalid', {
        detail: `The body is not whole as its Content-Encoding says: ${error.message}.`,
        cause: error,
      });
    }
    throw error;
  } finally {
    decoder.destroy();
  }
}

async function feed(decoder: zlib.Gunzip, chunks: AsyncIterable<Buffer>): Promise<void> {
  try {
    for await (const chunk of chunks) {
      if (decoder.destroyed) return;
      if (!decoder.write(chunk))
        await Promise.race([once(decoder, 'drain'), once(decoder, 'close')]);
    }
    decoder.end();
  } catch (error) {
    decoder.destroy(error instanceof Error ? error : new Error(String(error)));
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

/** What a body may cost beyond what its records pay for, and what each byte of a record pays for. */
const freeCost = 256 * 2 ** 20;
const paidByByte = 1024;
/** No record pays for more beyond its own white space: four thousand faults. */
const mostPaidByRecord = 2 ** 20;
/** What each byte that was sent lets records pay in all: the same record again and again compresses to nothing. */
const paidBySentByte = 8192;
/** A blank byte: 8 MiB of them are free, and 32 for each byte of a record. */
const blankCost = 32;
/** A line that is no record costs its bytes, and at least this: a million of them are free. */
const leastFaultCost = 256;
/** A byte of a line that is longer than any record may be: 32 MiB of them are free. */
const overlongCost = 8;

/**
 * Weighs what a body holds that is no record against its records. Otherwise a few kilobytes of compressed
 * blanks, or of lines of one letter, keep the service at work for half a minute; compressed by zstd it is
 * hours. Pretty-printed records and lines of fixed width stay far below the limit, and so does a file with
 * a good record among a thousand faulty ones. Throws 413 `body_mostly_empty`.
 */
export class Content {
  #cost = 0;
  #paid = 0;
  readonly #sentBytes: () => number;

  /** `sentBytes` tells how many have come over the wire by now, before they are decompressed. */
  constructor(sentBytes: () => number) {
    this.#sentBytes = sentBytes;
  }

  /** A record of so many bytes, which took up more of the body: white space and long escapes. */
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

  /** Bytes of a line that is longer than any record may be, as they come: it may never end. */
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
