import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { type Actor, callerOf } from '../../kernel/actor.ts';
import { createBatcher } from '../../kernel/batcher.ts';
import type { Clock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import { type Budget, createGate, createSharedBudget } from '../../kernel/gate.ts';
import { isHidden } from '../../kernel/names.ts';
import { type Body, Content } from '../../platform/http/body.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { listNewNames } from '../../platform/postgres/known-names.ts';
import { withTokenCheck } from '../../platform/postgres/token-check.ts';
import type { IngestAnswer } from '../contract.ts';
import type { ColdReader } from '../segments/segment.ts';
import { EnvelopeFault, readBatch } from './batch-reader.ts';
import type { Findings } from './findings.ts';
import { foreseeAlone, foreseePart } from './foresee-part.ts';
import { Part, type PartOutcome, Tally } from './part.ts';
import { fewRows } from './queries.ts';
import {
  createBusyTenants,
  createPartitions,
  maySharePart,
  type SentPart,
  storePart,
  storeTogether,
} from './store-part.ts';
import { storeStream, streamShareBytes } from './stream.ts';

type IngestLimits = {
  maxRecords: number;
  maxBatchBytes: number;
  maxEnrichmentBytes: number;
  inFlightBytes: number;
  /** How many of them one caller may have; all by default. */
  inFlightBytesPerCaller?: number;
  clock: Clock;
};
export type IngestOptions = IngestLimits & {
  /** How many transactions may store records at the same time. */
  writers: number;
  /** The cold data in which late records of cold days are looked up. */
  cold: ColdReader;
};

type TakeOptions = {
  /** Is called before anything is stored, and throws 401 when the actor may not go on. */
  recheck?: (() => Promise<unknown>) | undefined;
  /** Looks the actor's token up where the statement that stores could not check it. Throws 401. */
  lookUp?: () => Promise<Actor>;
  /** Makes it a dry run: everything is checked and noted there, and nothing is stored. */
  findings?: Findings | undefined;
  /** The import that it belongs to. */
  ofImport?: ImportShare | undefined;
};

/** The import that a request belongs to, which counts what is stored, and how many of its records are in conflict. */
type ImportShare = { readonly id: string; conflicts: number };

export type Ingest = {
  /**
   * Stores one JSON document. Nothing of it is stored unless its envelope is right. Throws 400 `json_invalid` or
   * `request_invalid`, 413, and 429 `ingest_busy`.
   */
  batch(body: Body, actor: Actor, options?: TakeOptions): Promise<IngestAnswer>;
  /** Stores NDJSON of any length, committed in parts. If it breaks off, the parts before that stay stored. */
  stream(body: Body, actor: Actor, options?: TakeOptions): Promise<IngestAnswer>;
};

/** So many parts look up late records in cold data at once, because DuckDB serves pages and exports, too. */
const lateChecksAtOnce = 2;

/** So many bytes of a part weigh as much as one of its rows when small parts are stored together. */
const bytesOfRow = 1024;

const noRecheck = async () => {};
/** So many senders who repeat are remembered; of more, those that have not done so for longest are forgotten. */
const mostRepeaters = 1000;

export function createIngest(db: Database, options: IngestOptions): Ingest {
  const storing = {
    cold: options.cold,
    partitions: createPartitions(db),
    busy: createBusyTenants(options.clock),
    repeaters: new LRUCache<string, true>({ max: mostRepeaters }),
    transactions: createGate(options.writers),
    lateChecks: createGate(lateChecksAtOnce),
  };
  const storeAlone = (sent: SentPart) => storePart(db, sent, storing);
  const small = createBatcher<SentPart, PartOutcome>({
    alone: storeAlone,
    together: (sent) => storeTogether(db, sent, storing),
    weigh: ({ part }) => part.count + part.sizeBytes / bytesOfRow,
    mostWeight: 2 * fewRows,
  });
  return takeRecords(options, (all, { actor, isDryRun, ofImport }) =>
    withoutHidden(db, all, async (part) => {
      if (isDryRun) return foreseePart(db, part, storing);
      const { tokenId, check } = actor;
      const sent = { part, tokenId, check, importId: ofImport?.id };
      const isShared = ofImport === undefined && maySharePart(part, storing);
      const outcome = await (isShared ? small.run(sent) : storeAlone(sent));
      if (check !== undefined) check.isMade = true;
      if (ofImport !== undefined) ofImport.conflicts += outcome.conflicts.length;
      return outcome;
    }),
  );
}

/** Checks records as an empty service with these limits would. There is none, and nothing is stored. */
export function createLint(limits: IngestLimits): Ingest {
  return takeRecords(limits, async (part) => foreseeAlone(part));
}

/** Reads and checks records, and gives them to whatever stores them. */
function takeRecords(
  options: IngestLimits,
  store: (
    part: Part,
    by: { actor: Actor; isDryRun: boolean; ofImport?: ImportShare | undefined },
  ) => Promise<PartOutcome>,
): Ingest {
  const { maxRecords, maxBatchBytes, maxEnrichmentBytes } = options;
  const { inFlightBytes: total, inFlightBytesPerCaller: each = total } = options;
  const budget = createSharedBudget({ total, each });
  const limits = () => ({ nowMicros: options.clock() * 1000, maxEnrichmentBytes });
  // In the body each character may be spelled with several bytes, and the other fields come on top.
  const maxRecordBytes = maxEnrichmentBytes * 2 + 64 * 1024;

  return {
    batch: (
      body,
      actor,
      { recheck = noRecheck, lookUp = async () => actor, findings, ofImport } = {},
    ) =>
      withShare(budget.of(callerOf(actor)), body, async (share) => {
        const tally = new Tally(actor, findings);
        const part = new Part();
        const content = new Content(() => body.sentBytes());
        const chunks = bounded(body, maxBatchBytes, share);
        const batchLimits = { ...limits(), maxRecords, maxRecordBytes };
        await readBatch(chunks, batchLimits, {
          onRecord(index, record, takenBytes) {
            tally.take(part, index, { record, fault: null, end: 0 });
            content.addRecord(record.bytes, takenBytes);
          },
          onFault(index, fault, takenBytes) {
            tally.reject(index, fault);
            content.addFault(takenBytes);
          },
          onBlanks: (bytes) => content.addBlanks(bytes),
        }).catch(refuseEnvelope);
        if (part.count > 0) {
          await recheck();
          const isDryRun = findings !== undefined;
          const storeAs = async (found: Actor) => {
            const isSame = isDeepStrictEqual(found.tenants, actor.tenants);
            const reached = isSame ? part : tally.takeAgain(part, found);
            if (reached.count > 0)
              tally.add(reached, await store(reached, { actor: found, isDryRun, ofImport }));
          };
          // Whoever has revoked a token waits for what checks one, which a large part would make long.
          const isLarge = part.count > fewRows && actor.check !== undefined;
          await withTokenCheck(isLarge ? await lookUp() : actor, lookUp, storeAs);
        }
        return tally.answer();
      }),

    stream: (body, actor, { recheck = noRecheck, findings, ofImport } = {}) =>
      withShare(budget.of(callerOf(actor)), body, async (share) => {
        reserve(share, streamShareBytes);
        const isDryRun = findings !== undefined;
        return storeStream(body, {
          actor,
          share,
          maxRecords,
          maxLineBytes: maxRecordBytes,
          limits,
          recheck,
          findings,
          store: (part) => store(part, { actor, isDryRun, ofImport }),
        });
      }),
  };
}

/** Runs `work` with a share of the bytes in flight. What it has not given back in the end is given back then. */
async function withShare<T>(
  budget: Budget,
  body: Body,
  work: (share: Budget) => Promise<T>,
): Promise<T> {
  let taken = 0;
  const share: Budget = {
    take(bytes) {
      const fits = budget.take(bytes);
      if (fits) taken += bytes;
      return fits;
    },
    give(bytes) {
      taken -= bytes;
      budget.give(bytes);
    },
  };
  try {
    return await work(share);
  } catch (error) {
    share.give(taken);
    if (error instanceof AppError) await body.discard();
    throw error;
  } finally {
    share.give(taken);
  }
}

/** Takes bytes of a share. Throws 429 `ingest_busy` when there are no more. */
function reserve(share: Budget, bytes: number): void {
  if (share.take(bytes)) return;
  throw new AppError('ingest_busy', {
    detail:
      'More is being ingested, by you or by all together, than the service holds at once. Send it again later.',
    retryAfterSeconds: 1,
  });
}

/** Yields the body as it arrives. Throws 413 when it is too long, and 429 when the share has no room for it. */
async function* bounded(body: Body, maxBytes: number, share: Budget): AsyncGenerator<Buffer> {
  const assertFits = (sizeBytes: number) => {
    if (sizeBytes <= maxBytes) return;
    throw new AppError('body_too_large', {
      detail: `A JSON batch has at most ${maxBytes} bytes. Split it, or send application/x-ndjson, which has no limit.`,
    });
  };
  assertFits(body.sizeBytes ?? 0);
  let size = 0;
  for await (const chunk of body.chunks()) {
    size += chunk.length;
    assertFits(size);
    reserve(share, chunk.length);
    yield chunk;
  }
}

function refuseEnvelope(error: unknown): never {
  if (!(error instanceof EnvelopeFault)) throw error;
  const { path, code, message } = error;
  throw new AppError(code.startsWith('json_') ? 'json_invalid' : 'request_invalid', {
    detail: message,
    errors: [{ path: path === '' ? '/' : path, code, message }],
    cause: error,
  });
}

/** Stores a part without the records of new tenants and stores whose names hold what cannot be seen. */
async function withoutHidden(
  db: Database,
  part: Part,
  store: (part: Part) => Promise<PartOutcome>,
): Promise<PartOutcome> {
  const leaves = part.leavesThat(isHidden);
  if (leaves.length === 0) return store(part);
  const hidden = new Set(
    (await listNewNames(db, leaves)).flatMap((position) => leaves[position]?.ordinals ?? []),
  );
  const kept = [...part.rows.keys()].filter((ordinal) => !hidden.has(ordinal));
  if (kept.length === 0) return { duplicates: [], conflicts: [], hidden: [...hidden] };
  const { duplicates, conflicts } = await store(part.pick(kept));
  const inAll = (ordinal: number) => kept[ordinal] ?? -1;
  return {
    duplicates: duplicates.map(inAll),
    conflicts: conflicts.map(inAll),
    hidden: [...hidden],
  };
}
