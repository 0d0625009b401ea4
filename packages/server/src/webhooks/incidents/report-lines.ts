import { AppError } from '../../kernel/errors.ts';
import { type Body, Content } from '../../platform/http/body.ts';
import { brokenOff, lineFaults, progressAt, Rejections } from '../../platform/http/line-answers.ts';
import { type Line, type Place, splitLines } from '../../platform/http/lines.ts';
import type { ReportedLines } from '../contract.ts';
import type { Report, ReportOutcome } from './report-incident.ts';

type Options = {
  readonly maxLineBytes: number;
  /** Whether lines have keys by their numbers, so that the rest alone would have those of the first lines. */
  readonly isNumbered: boolean;
  /** Reads one line. What it throws is why the line is refused. */
  readonly read: (line: string, index: number) => Report;
  /** Stores reports in their order, all or none. */
  readonly reportAll: (reports: readonly Report[]) => Promise<ReportOutcome[]>;
  /** Is called before each group is stored. What it throws ends the stream. */
  readonly recheck: () => Promise<unknown>;
};

/** Reports that are stored by one statement: so many, and so many bytes of lines. */
const [mostTogether, mostBytes] = [500, 1024 * 1024];
const mostWarnings = 100;

/**
 * Reports each line of NDJSON, in groups. When it breaks off, the error says from which line on the rest is missing.
 */
export async function reportLines(
  body: Pick<Body, 'chunks' | 'sentBytes'>,
  { maxLineBytes, isNumbered, read, reportAll, recheck }: Options,
): Promise<ReportedLines> {
  const tally = new Tally();
  const content = new Content(() => body.sentBytes());
  let at: Place = { line: 0, byte: 0 };
  let held = emptyGroup(at);

  const takeLine = (line: Line) => {
    const { index, offset, sizeBytes, text, fault } = line;
    at = { line: index + 1, byte: offset + sizeBytes + 1 };
    try {
      if (text === null) throw new AppError(lineCodes[fault], { detail: lineFaults[fault] });
      held.reports.push(read(text, index));
      held.indexes.push(index);
      held.bytes += sizeBytes;
      content.addRecord(sizeBytes, sizeBytes);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      tally.refuse(index, error);
      // The bytes of a line that is too long were counted while it arrived.
      content.addFault(fault === 'record_too_large' ? 0 : sizeBytes);
    }
    // Everything read up to here is refused or blank, so nothing of it is missing.
    if (held.reports.length === 0) held.from = at;
  };
  const storeHeld = async () => {
    if (held.reports.length > 0) {
      await recheck();
      tally.add(held.indexes, await reportAll(held.reports));
    }
    held = emptyGroup(at);
  };
  try {
    for await (const { lines, blankBytes, overlongBytes, end } of splitLines(
      body.chunks(),
      maxLineBytes,
    )) {
      for (const line of lines) {
        takeLine(line);
        if (held.reports.length >= mostTogether || held.bytes >= mostBytes) await storeHeld();
      }
      at = end;
      content.addBlanks(blankBytes);
      content.addOverlong(overlongBytes);
    }
    await storeHeld();
    return tally.answer();
  } catch (error) {
    const progress = { ...tally.answer(), ...progressAt(at, held.from) };
    const { accepted, duplicates, rejected_count, lines_read } = progress;
    const advice = isNumbered
      ? 'Send all of it again with the same Idempotency-Key, which reports nothing twice; the rest alone needs another one.'
      : 'Go on where next_line or next_byte say.';
    throw brokenOff(
      error,
      progress,
      `Of the ${lines_read} lines read, ${accepted} are reported now, ${duplicates} were before and ${rejected_count} are rejected. ${advice}`,
    );
  }
}

const lineCodes = { record_too_large: 'body_too_large', json_invalid: 'json_invalid' } as const;

type Group = { reports: Report[]; indexes: number[]; bytes: number; from: Place };

function emptyGroup(from: Place): Group {
  return { reports: [], indexes: [], bytes: 0, from };
}

type Refusal = { readonly code: string; readonly detail: string };

class Tally {
  #accepted = 0;
  #duplicates = 0;
  #deliveries = 0;
  #heldBack = 0;
  readonly #rejections = new Rejections();
  readonly #warnings: NonNullable<ReportedLines['warnings']> = [];

  refuse(index: number, { code, detail: message }: Refusal): void {
    this.#rejections.add({ index, code, message: message.replace(/^The body /, 'The line ') });
  }

  add(indexes: readonly number[], outcomes: readonly ReportOutcome[]): void {
    for (const [place, outcome] of outcomes.entries()) {
      const index = indexes[place] ?? -1;
      if (outcome.refusal !== null) this.refuse(index, outcome.refusal);
      else {
        if (outcome.isRepeated) this.#duplicates += 1;
        else this.#accepted += 1;
        this.#deliveries += outcome.deliveries;
        this.#heldBack += outcome.heldBack;
        for (const message of outcome.warnings) {
          if (this.#warnings.length < mostWarnings) this.#warnings.push({ index, message });
        }
      }
    }
  }

  answer(): ReportedLines {
    return {
      accepted: this.#accepted,
      duplicates: this.#duplicates,
      deliveries: this.#deliveries,
      rejected: this.#rejections.first(),
      rejected_count: this.#rejections.count,
      ...(this.#heldBack > 0 && { held_back: this.#heldBack }),
      ...(this.#warnings.length > 0 && { warnings: this.#warnings }),
    };
  }
}
