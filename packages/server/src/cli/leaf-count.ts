import type { Client } from './client.ts';
import type { Io } from './io.ts';
import { readPage } from './pages.ts';
import { type Days, wholeMonths } from './slice.ts';

const mostMonths = 36;

/**
 * How many records the leaves of a slice hold, or null when leaves do not tell: a slice that cuts
 * through months, too many months, or a token that may export but not browse.
 */
export async function countLeaves(
  io: Io,
  client: Client,
  slice: Days & { tenant: string; store: string | undefined },
): Promise<number | null> {
  const months = wholeMonths(slice);
  if (months === null || months.length > mostMonths) return null;
  const { tenant, store } = slice;
  const level = store === undefined ? 'tenant' : 'store';
  let sum = 0;
  for (const month of months) {
    let page: string;
    try {
      page = await client.text('GET /enrichment/datasets', {
        query: { tenant, store, month, level },
      });
    } catch (error) {
      if (io.signal.aborted) throw error;
      // The export itself is proved by count and digest; this only says so in other words.
      return null;
    }
    for (const row of readPage(page).rows) sum += (JSON.parse(row) as { count: number }).count;
  }
  return sum;
}
