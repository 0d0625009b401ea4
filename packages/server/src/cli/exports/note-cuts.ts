import { cutBySheet } from '../../exports/values.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { parseAnswer } from '../parse-answer.ts';
import type { StreamRequest } from './stream-export.ts';

/** Says on stderr, before anything is exported for a spreadsheet, what that would cut of it. */
export async function noteCuts(
  context: Context,
  client: Client,
  { slice, body, hasHeader }: Pick<StreamRequest, 'slice' | 'body' | 'hasHeader'>,
): Promise<void> {
  const { kind, dataset, version, split, profile } = body;
  const query = { ...slice, kind, dataset, version, split, profile };
  try {
    const { rows, long_records = null } = parseAnswer(
      await client.text('GET /exports/estimate', { query }),
    ) as { rows: number; long_records?: number | null };
    const cut = cutBySheet({ rows, long_records, hasHeader });
    if (cut !== null) context.note(`note: ${cut}`);
  } catch (error) {
    // A failure here is ignored, because the export itself tells what is wrong with the request or the service.
    if (context.io.signal.aborted) throw error;
  }
}
