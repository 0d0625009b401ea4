import { isUtf8 } from 'node:buffer';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { type Budget, createBudget } from '../../kernel/budget.ts';
import type { Clock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import { createGate } from '../../kernel/gate.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { IngestAnswer } from '../contract.ts';
import type { ColdReader } from '../segments/cold-reader.ts';
import { EnvelopeFault, LineReader, readBatch } from './batch-reader.ts';
import type { Body } from './body.ts';
import { type Line, splitLines } from './lines.ts';
import { Part } from './part.ts';
import { createPartitions } from './partitions.ts';
import type { RecordReading } from './record-reader.ts';
import { type PartOutcome, storePart } from './store-part.ts';
import { Tally } from './tally.ts';

export type IngestOptions = {
  maxRecords: number;
  maxBatchBytes: number;
  maxEnrichmentBytes: number;
  inFlightBytes: number;
  /** Transactions that store records at once, at most. */
  writers: number;
  clock: Clock;
  /** Late records for cold days are looked up there. */
  cold: ColdReader;
};

export type Ingest = {
  /** One JSON document: nothing is stored unless its envelope is right. */
  batch(body: Body, actor: Actor): Promise<IngestAnswer>;
  /** NDJSON of any length, committed in parts. If it breaks off, the parts before are stored. */
  stream(body: Body, actor: Actor): Promise<IngestAnswer>;
};

/** A part is stored when it holds so many bytes, even if there is room for more records. */
const partBytes = 8 * 1024 * 1024;
/** A part that a stream may hold without asking. */
const smallPartBytes = 256 * 1024;
/** Of one stream, parts stored at the same time: while two are, the next is read. */
const partsAtOnce = 2;
/** Parts whose late records are looked up in cold data at once; DuckDB has exports to serve as well. */
const lateChecksAtOnce = 2;

export function createIngest(db: Database, options: IngestOptions): Ingest {
  const budget = createBudget(options.inFlightBytes);
  const storing = {
    cold: options.cold,
    partitions: createPartitions(db),
    transactions: createGate(options.writers),
    lateChecks: createGate(lateChecksAtOnce),
  };
  const limits = () => ({
    nowMicros: options.clock() * 1000,
    maxEnrichmentBytes: options.maxEnrichmentBytes,
    maxRecords: options.maxRecords,
  });

  const store = (part: Part): Promise<PartOutcome> => storePart(db, part, storing);

  return {
    batch: (body, actor) =>
      withReserve(budget, body, async (reserve) => {
        const text = await readText(body, options.maxBatchBytes, reserve);
        const tally = new Tally();
        const part = new Part();
        const take = taker(actor, tally);
        readEnvelope(text, () =>
          readBatch(text, limits(), {
            onRecord: (index, record) => take(part, index, { record, fault: null, end: 0 }),
            onFault: (index, fault) => tally.reject(index, fault.code, fault.message),
          }),
        );
        if (part.count > 0) tally.add(await store(part));
        return tally.answer();
      }),

    stream: (body, actor) =>
      withReserve(budget, body, async (reserve) => {
        reserve((partsAtOnce + 1) * smallPartBytes);
        const tally = new Tally();
        const take = taker(actor, tally);
        const share = shareOf(budget);
        const parts = new InFlight(partsAtOnce, async ({ part, heldBytes }: HeldPart) => {
          try {
            tally.add(await store(part));
          } finally {
            share.give(heldBytes);
          }
        });
        let held: HeldPart = { part: new Part(), heldBytes: 0 };
        let reader = new LineReader(limits());
        const takeLine = (line: Line) => {
          if (line.text === null) tally.reject(line.index, line.fault, faultMessages[line.fault]);
          else if (line.text.trim() !== '') take(held.part, line.index, reader.read(line.text));
        };
        const maxLineBytes = options.maxEnrichmentBytes * 2 + 64 * 1024;
        try {
          for await (const lines of splitLines(body.chunks(), maxLineBytes)) {
            for (const line of lines) {
              takeLine(line);
              if (hasRoom(held, options.maxRecords, share)) continue;
              const full = held;
              held = { part: new Part(), heldBytes: 0 };
              reader = new LineReader(limits());
              await parts.add(full);
            }
          }
          if (held.part.count > 0) await parts.add(held);
        } finally {
          // Whatever ended the reading, no transaction is left behind unobserved.
          await parts.settle();
          share.giveAll();
        }
        parts.throwIfFailed();
        return tally.answer();
      }),
  };
}

/** What one stream takes of a budget, all of which comes back with it. */
function shareOf(budget: Budget): Budget & { giveAll(): void } {
  let taken = 0;
  return {
    take(bytes) {
      if (!budget.take(bytes)) return false;
      taken += bytes;
      return true;
    },
    give(bytes) {
      taken -= bytes;
      budget.give(bytes);
    },
    giveAll() {
      budget.give(taken);
      taken = 0;
    },
  };
}

/** A part of a stream, and what it holds of the bytes in flight beyond the stream's own share. */
type HeldPart = { readonly part: Part; heldBytes: number };

/**
 * Whether a part takes more records. Beyond a small part it asks for a large share of the bytes in
 * flight; if there is none, it is stored as it is: busy streams get slower, not refused half-way.
 */
function hasRoom(held: HeldPart, maxRecords: number, budget: Budget): boolean {
  const { count, sizeBytes } = held.part;
  if (count >= maxRecords || sizeBytes >= partBytes) return false;
  if (sizeBytes < smallPartBytes || held.heldBytes > 0) return true;
  if (!budget.take(partBytes)) return false;
  held.heldBytes = partBytes;
  return true;
}

const faultMessages = {
  record_too_large: 'the line is longer than any record may be',
  json_invalid: 'the line is not UTF-8',
} as const;

/** Puts a record into the part, or rejects it. */
function taker(actor: Actor, tally: Tally) {
  return (part: Part, index: number, { record, fault }: RecordReading): void => {
    if (fault !== null) tally.reject(index, fault.code, fault.message);
    else if (mayTouchTenant(actor, record.tenant)) part.add(index, record);
    else
      tally.reject(index, 'tenant_not_allowed', 'this token may not write records of this tenant');
  };
}

/** Runs `work` with a share of the bytes in flight, given back in the end; 429 when there is none. */
async function withReserve<T>(
  budget: Budget,
  body: Body,
  work: (reserve: (bytes: number) => void) => Promise<T>,
): Promise<T> {
  let taken = 0;
  try {
    return await work((bytes) => {
      if (!budget.take(bytes)) {
        throw new AppError('ingest_busy', {
          detail: 'More is being ingested than the service holds at once. Send it again later.',
          retryAfterSeconds: 1,
        });
      }
      taken += bytes;
    });
  } catch (error) {
    if (error instanceof AppError) await body.discard();
    throw error;
  } finally {
    budget.give(taken);
  }
}

async function readText(
  body: Body,
  maxBytes: number,
  reserve: (bytes: number) => void,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body.chunks()) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new AppError('body_too_large', {
        detail: `A JSON batch has at most ${maxBytes} bytes. Split it, or send application/x-ndjson, which has no limit.`,
      });
    }
    reserve(chunk.length);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) throw new AppError('json_invalid', { detail: 'The body is not UTF-8.' });
  return bytes.toString();
}

function readEnvelope(text: string, read: () => number): number {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof EnvelopeFault)) throw error;
    const fault = {
      path: error.path === '' ? '/' : error.path,
      code: error.code,
      message: error.message,
    };
    const code = error.code.startsWith('json_') || text === '' ? 'json_invalid' : 'request_invalid';
    throw new AppError(code, { detail: error.message, errors: [fault], cause: error });
  }
}

/** Runs up to `places` of the works at once; `add` waits for a place. */
class InFlight<T> {
  readonly #running = new Set<Promise<void>>();
  readonly #places: number;
  readonly #work: (item: T) => Promise<void>;
  #failure: { error: unknown } | null = null;

  constructor(places: number, work: (item: T) => Promise<void>) {
    this.#places = places;
    this.#work = work;
  }

  async add(item: T): Promise<void> {
    if (this.#running.size >= this.#places) await Promise.race(this.#running);
    this.throwIfFailed();
    const run = this.#work(item)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async settle(): Promise<void> {
    await Promise.all(this.#running);
  }

  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }
}
