import { AppError } from '../../kernel/errors.ts';

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
