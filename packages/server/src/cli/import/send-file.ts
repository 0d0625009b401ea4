import type { IngestAnswer } from '../../contract.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { parseAnswer } from '../parse-answer.ts';
import { throughOutages } from '../retry.ts';
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
  /** Names the import that the records belong to. */
  readonly query: { readonly import?: string };
  /** Is told before which row all of the file is answered, and of the last of them what became of them, durably. */
  readonly onAnswered: (row: number, answer: IngestAnswer) => Promise<void>;
  readonly note: (text: string) => void;
};

/**
 * What is sent in one request. A request that fails is sent again whole, so this is what may be read twice; and the
 * service lists a thousand rejected rows of each.
 */
const batchRows = 50_000;
const batchBytes = 64 * 2 ** 20;

/**
 * Sends the records of a file, request by request, and adds up what became of them. A request is sent again, up to ten
 * times, when the service is busy or does not answer.
 */
export async function sendFile(context: Context, client: Client, sending: Sending): Promise<void> {
  const { file, totals, onRows, onAnswered } = sending;
  let from = sending.firstRow;
  await throughOutages(context.io, sending.note, async (gotOn) => {
    for await (const { rows, answer } of sendFrom(client, { ...sending, from })) {
      addAnswer(totals, answer, { file: file.name, firstRow: from });
      from += rows;
      gotOn();
      onRows(from);
      await onAnswered(from, answer);
    }
  });
}

/** Sends the rows of a file from one on, and yields after each request what became of its rows. */
async function* sendFrom(
  client: Client,
  { file, isCheck, from, rest, query, onRows }: Sending & { from: number },
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
          query: isCheck ? { dry_run: 'true' } : query,
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
