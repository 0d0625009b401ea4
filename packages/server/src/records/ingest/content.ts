import { AppError } from '../../kernel/errors.ts';

/** What a body may cost beyond what its records pay for, and what each byte of a record pays for. */
const freeCost = 256 * 2 ** 20;
const paidByByte = 1024;
/** A blank byte: 8 MiB of them are free, and 32 for each byte of a record. */
const blankCost = 32;
/** A line that is no record costs its bytes, and at least this: a million of them are free. */
const leastFaultCost = 256;

/**
 * Weighs what a body holds that is no record against its records. Otherwise a few kilobytes of compressed
 * blanks, or of lines of one letter, keep the service at work for half a minute; compressed by zstd it is
 * hours. Pretty-printed records and lines of fixed width stay far below the limit, and so does a file with
 * a good record among a thousand faulty ones. Throws 413 `body_mostly_empty`.
 */
export class Content {
  #left = freeCost;

  /** A record of so many bytes, which took up more of the body: white space and long escapes. */
  addRecord(bytes: number, takenBytes: number): void {
    this.#left += bytes * paidByByte - Math.max(0, takenBytes - bytes) * blankCost;
    this.#check();
  }

  addFault(bytes: number): void {
    this.#left -= Math.max(leastFaultCost, bytes);
    this.#check();
  }

  addBlanks(bytes: number): void {
    this.#left -= bytes * blankCost;
    this.#check();
  }

  #check(): void {
    if (this.#left >= 0) return;
    throw new AppError('body_mostly_empty', {
      detail:
        'White space, or lines that are no records, are nearly all that the body holds. It may have 8 MiB of blanks and 32 for each byte of its records; of lines that are no records a million, and a thousand for each that is one. Look at what writes it.',
    });
  }
}
