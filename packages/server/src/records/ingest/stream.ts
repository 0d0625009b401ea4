import type { Actor } from '../../kernel/actor.ts';
import type { Budget } from '../../kernel/gate.ts';
import { type Body, Content } from '../../platform/http/body.ts';
import { brokenOff, lineFaults, progressAt } from '../../platform/http/line-answers.ts';
import { type Line, type Place, splitLines } from '../../platform/http/lines.ts';
import type { IngestAnswer, IngestProgress } from '../contract.ts';
import { LineReader } from './batch-reader.ts';
import type { Findings } from './findings.ts';
import { Part, type PartOutcome, Tally } from './part.ts';
import type { RecordLimits } from './record-reader.ts';

type StreamOptions = {
  actor: Actor;
  /** What the stream may hold beyond `streamShareBytes`; the rest of it is given back by whoever lent it. */
  share: Budget;
  /** How many records a part may have. */
  maxRecords: number;
  maxLineBytes: number;
  limits: () => RecordLimits;
  store: (part: Part) => Promise<PartOutcome>;
  /** Is called before each part is stored. What it throws ends the stream. */
  recheck: () => Promise<unknown>;
  /** Makes it a dry run: `store` stores nothing then. */
  findings: Findings | undefined;
};

/** A part is stored when it holds this many bytes, even if there is room for more records. */
const partBytes = 8 * 1024 * 1024;
/** A part of this size may be held without asking the budget. */
const smallPartBytes = 256 * 1024;
/** How many parts of one stream are stored at the same time; meanwhile the next one is read. */
const partsAtOnce = 2;
/** What a stream may hold without asking the budget for each part. */
export const streamShareBytes = (partsAtOnce + 1) * smallPartBytes;

/** Stores NDJSON of any length, in parts. When it breaks off, the error says what is stored and where to go on. */
export async function storeStream(
  body: Pick<Body, 'chunks' | 'sentBytes'>,
  options: StreamOptions,
): Promise<IngestAnswer> {
  const { actor, share, maxRecords, maxLineBytes, limits, store, recheck, findings } = options;
  const tally = new Tally(actor, findings);
  const content = new Content(() => body.sentBytes());
  const parts = new PartsUnderWay(async ({ part, heldBytes }) => {
    try {
      tally.add(part, await store(part));
    } finally {
      share.give(heldBytes);
    }
  });
  let read: Place = { line: 0, byte: 0 };
  let held = emptyPart(read);
  let reader = new LineReader(limits());

  const takeLine = (line: Line) => {
    const { index, offset, sizeBytes, text } = line;
    read = { line: index + 1, byte: offset + sizeBytes + 1 };
    if (text === null) {
      tally.reject(index, { code: line.fault, message: lineFaults[line.fault] });
    }
    const record = text === null ? null : tally.take(held.part, index, reader.read(text));
    // The bytes of a line that is too long were counted while it arrived.
    if (record === null) content.addFault(line.fault === 'record_too_large' ? 0 : sizeBytes);
    else content.addRecord(record.bytes, sizeBytes);
    // Everything read up to here is rejected or blank, so nothing of it is missing.
    if (held.part.count === 0) held.from = read;
  };
  const storeHeld = async () => {
    if (held.part.count > 0) await recheck();
    const full = held;
    held = emptyPart(read);
    reader = new LineReader(limits());
    if (full.part.count > 0) await parts.add(full);
  };
  try {
    for await (const taken of splitLines(body.chunks(), maxLineBytes)) {
      const { lines, blankBytes, overlongBytes, end } = taken;
      for (const line of lines) {
        takeLine(line);
        if (!hasRoom(held, maxRecords, share)) await storeHeld();
      }
      read = end;
      content.addBlanks(blankBytes);
      content.addOverlong(overlongBytes);
    }
    await storeHeld();
    await parts.settle();
    parts.throwIfFailed();
    return tally.answer();
  } catch (error) {
    // Whatever ended the reading, no transaction may go on unobserved.
    await parts.settle();
    const next = parts.firstMissing() ?? held.from;
    const progress = { ...tally.answer(), ...progressAt(read, next) };
    const advice = findings === undefined ? storedAdvice : triedAdvice;
    throw brokenOff(error, progress, advice(progress));
  }
}

const storedAdvice = ({ accepted, duplicates, rejected_count, lines_read }: IngestProgress) =>
  `Of the ${lines_read} lines read, ${accepted} are stored now, ${duplicates} were stored before and ${rejected_count} are rejected. Go on where next_line or next_byte say, or send all of it again, which does no harm.`;
const triedAdvice = ({ accepted, duplicates, rejected_count, lines_read }: IngestProgress) =>
  `This was a dry run, and nothing is stored. Of the ${lines_read} lines read, ${accepted} would be stored, ${duplicates} are stored already and ${rejected_count} would be rejected.`;

type HeldPart = {
  readonly part: Part;
  /** The bytes in flight that the part holds beyond the stream's own share. */
  heldBytes: number;
  /** The position in the stream of its first record, or of whatever comes next. */
  from: Place;
};

function emptyPart(from: Place): HeldPart {
  return { part: new Part(), heldBytes: 0, from };
}

/**
 * Returns whether a part takes more records. When it has outgrown a small part it asks for a large share of the bytes
 * in flight. If there is none, it is stored as it is: when the service is busy, streams become slower and are not
 * refused halfway.
 */
function hasRoom(held: HeldPart, maxRecords: number, budget: Budget): boolean {
  const { count, sizeBytes } = held.part;
  if (count >= maxRecords || sizeBytes >= partBytes) return false;
  if (sizeBytes < smallPartBytes || held.heldBytes > 0) return true;
  if (!budget.take(partBytes)) return false;
  held.heldBytes = partBytes;
  return true;
}

/** Stores a few parts at the same time. `add` waits until there is a free place. */
class PartsUnderWay {
  readonly #running = new Set<Promise<void>>();
  /** The parts that are not stored, for whatever reason, in the order of the stream. */
  readonly #missing = new Set<HeldPart>();
  readonly #store: (held: HeldPart) => Promise<void>;
  #failure: { error: unknown } | null = null;

  constructor(store: (held: HeldPart) => Promise<void>) {
    this.#store = store;
  }

  async add(held: HeldPart): Promise<void> {
    this.#missing.add(held);
    if (this.#running.size >= partsAtOnce) await Promise.race(this.#running);
    this.throwIfFailed();
    const run = this.#store(held)
      .then(
        () => void this.#missing.delete(held),
        (error: unknown) => {
          this.#failure ??= { error };
        },
      )
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async settle(): Promise<void> {
    await Promise.all(this.#running);
  }

  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Returns where the first part begins that is not stored; undefined when all are. */
  firstMissing(): Place | undefined {
    for (const { from } of this.#missing) return from;
    return undefined;
  }
}
