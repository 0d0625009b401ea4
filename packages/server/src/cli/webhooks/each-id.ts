import { AppError } from '../../kernel/errors.ts';
import { ApiError } from '../api-error.ts';
import type { Context } from '../context.ts';
import { formatCount } from '../format.ts';
import { withRetries } from '../retry.ts';

/**
 * Does the same with each id, one after the other. What the service refuses for one id (404, 409) is noted
 * and the next is tried; anything else would befall them all and is thrown. Answers how many were refused;
 * throws when all were.
 */
export async function tryEachId(
  context: Context,
  ids: readonly string[],
  act: (id: string) => Promise<void>,
): Promise<Refused> {
  const wanted = [...new Set(ids)];
  const refused: Refused = { count: 0, of: wanted.length };
  for (const [done, id] of wanted.entries()) {
    try {
      await (done === 0 ? act(id) : withRetries(context.io, () => act(id)));
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409)) {
        if (done > refused.count) context.note(`${done - refused.count} done before this:`);
        throw error;
      }
      refused.count += 1;
      if (refused.count === wanted.length) throw error;
      context.note(`✗ ${id}: ${error.detail} (${error.status} ${error.code})`);
    }
  }
  return refused;
}

export type Refused = { count: number; of: number };

/** Throws `partly_done` when some were refused. */
export function assertAllDone({ count, of }: Refused): void {
  if (count === 0) return;
  throw new AppError('partly_done', {
    detail: `${formatCount(count)} of ${formatCount(of)} refused. The others are done; the reasons stand above.`,
  });
}
