import type { IngestAnswer } from '../../contract.ts';
import type { AppError } from '../../kernel/errors.ts';
import { ApiError } from '../api-error.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { parseAnswer } from '../parse-answer.ts';
import { isBusy, isUnreachable, maxTries } from '../retry.ts';
import type { FoundFile } from './find-files.ts';
import { addAnswer, type Totals } from './report.ts';

type Sending = {
  readonly file: FoundFile;
  readonly totals: Totals;
  /** Whether nothing is stored. */
  readonly isCheck: boolean;
  /** How many rows of the file are passed over, because they were answered before. */
  readonly firstRow: number;
  /** The number of the file whose rows the stage has kept, if only those are sent. */
  readonly rest?: number | undefined;
  /** Is told how many rows of the file were sent. */
  readonly onRows: (rows: number) => void;
  /** Is told how many rows of the file are answered, and what became of them durable. */
  readonly onAnswered: (rows: number) => Promise<void>;
  readonly note: (text: string) => void;
};

/**
 * What is sent in one request. A request that fails is sent again whole, so this is what may be read twice; and the
 * service lists a thousand rejected rows of each.
 */
const batchRows = 50_000;
const batchBytes = 64 * 2 ** 20;
const longestWaitSeconds = 60;

/**
 * Sends the records of a file, request by request, and adds up what became of them. A request is sent again, up to ten
 * times, when the service is busy or does not answer. What it says to have stored of it by then counts as new.
 */
export async function sendFile(context: Context, client: Client, sending: Sending): Promise<void> {
  const { file, totals, isCheck, onRows, onAnswered, note } = sending;
  let from = sending.firstRow;
  let tries = 0;
  /** What the tries of the present batch stored before they failed. */
  let storedBefore = 0;
  for (;;) {
    const batches = sendFrom(client, { ...sending, from });
    try {
      for await (const { rows, answer } of batches) {
        const { accepted, duplicates } = answer;
        const known = Math.max(0, duplicates - storedBefore);
        const counts = { accepted: accepted + storedBefore, duplicates: known };
        addAnswer(totals, { ...answer, ...counts }, { file: file.name, firstRow: from });
        totals.rows += rows;
        from += rows;
        tries = 0;
        storedBefore = 0;
        onRows(from);
        await onAnswered(from);
      }
      return;
    } catch (error) {
      tries += 1;
      if ((!isBusy(error) && !isUnreachable(error)) || tries === maxTries) throw error;
      if (error instanceof ApiError && !isCheck) {
        storedBefore += Number(error.problem.accepted ?? 0);
      }
      const seconds = waitSeconds(error, tries);
      note(`The service cannot take it now (${error.code}); trying again in ${seconds} s …`);
      await context.io.sleep(seconds * 1000, context.io.signal);
    }
  }
}

function waitSeconds(error: ApiError | AppError, tries: number): number {
  const asked = error.retryAfterSeconds ?? 2 ** (tries - 1);
  return Math.min(longestWaitSeconds, asked);
}

/** Sends the rows of a file from one on, and yields after each request what became of its rows. */
async function* sendFrom(
  client: Client,
  { file, isCheck, from, rest, onRows }: Sending & { from: number },
): AsyncGenerator<{ rows: number; answer: IngestAnswer }> {
  const pieces = file.source.records(from, rest);
  try {
    let next = await pieces.next();
    let sent = from;
    while (next.done !== true) {
      const batch: { rows: number; failure?: unknown } = { rows: 0 };
      const body = async function* () {
        let bytes = 0;
        while (next.done !== true && batch.rows < batchRows && bytes < batchBytes) {
          const { text, rows } = next.value;
          yield text;
          batch.rows += rows;
          bytes += text.length;
          onRows(sent + batch.rows);
          next = await pieces.next().catch((error: unknown) => {
            batch.failure = error;
            throw error;
          });
        }
      };
      const answer = await client
        .upload('POST /enrichment/records', body(), {
          headers: { 'content-type': 'application/x-ndjson' },
          query: isCheck ? { dry_run: 'true' } : undefined,
        })
        // When the file could not be read on, the error of the call says less.
        .catch((error: unknown) => {
          throw batch.failure ?? error;
        });
      yield { rows: batch.rows, answer: parseAnswer(answer) as IngestAnswer };
      sent += batch.rows;
    }
  } finally {
    await pieces.return(undefined);
  }
}
