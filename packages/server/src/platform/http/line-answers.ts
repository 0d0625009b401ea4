import { AppError } from '../../kernel/errors.ts';
import type { Place } from './lines.ts';

type Rejected = { index: number; code: string; message: string };

const listed = 1000;

/** What is refused of a body that is taken item by item. It holds at most twice as many as the answer lists. */
export class Rejections {
  count = 0;
  #held: Rejected[] = [];

  add(rejected: Rejected): void {
    this.count += 1;
    this.#held.push(rejected);
    // What is done together ends in any order, so the first ones by index are kept.
    if (this.#held.length >= 2 * listed) this.#held = this.first();
  }

  first(): Rejected[] {
    return this.#held.sort((a, b) => a.index - b.index).slice(0, listed);
  }
}

/** How far a stream came that broke off. */
type StreamProgress = { lines_read: number; next_line: number; next_byte: number };

/** From where on a stream has to be sent again that was read so far. */
export function progressAt(read: Place, next: Place): StreamProgress {
  return { lines_read: read.line, next_line: next.line, next_byte: next.byte };
}

/** Returns the error that ended a stream, completed with what is done in spite of it, which `advice` says in words. */
export function brokenOff(error: unknown, progress: StreamProgress, advice: string): AppError {
  const { code, detail, retryAfterSeconds, cause } =
    error instanceof AppError ? error : new AppError('internal_error', { cause: error });
  return new AppError(code, {
    detail: progress.lines_read === 0 ? detail : `${detail} ${advice}`,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    members: progress,
    cause: cause ?? error,
  });
}

/** Why a line is refused that cannot be read at all. */
export const lineFaults = {
  record_too_large: 'the line is longer than any record may be',
  json_invalid:
    'the line is not UTF-8; convert the file, as from Latin-1 by iconv -f LATIN1 -t UTF-8 FILE',
} as const;
