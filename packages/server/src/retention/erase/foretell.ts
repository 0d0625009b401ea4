import { type GoneEffects, sumByDay } from '../../records/index.ts';
import type { MoverContext } from '../mover/context.ts';
import { goneOf } from '../mover/gone.ts';
import type { Matches } from './find-matches.ts';
import { doAndUndo } from './queries.ts';
import { noEffects } from './receipt.ts';
import type { EraseScope } from './scope.ts';

/**
 * What else an erasure of these matches would change: it is done and undone again, so that nothing can
 * tell differently from what will be done.
 */
export async function foretell(
  { db, onGone }: Pick<MoverContext, 'db' | 'onGone'>,
  scope: EraseScope,
  matches: Matches,
): Promise<GoneEffects> {
  const days = [
    ...sumByDay([...matches.hot, ...matches.cold.flatMap((found) => found.days)]).values(),
  ];
  if (onGone === undefined || days.length === 0) return noEffects;
  return db.transaction((connection) =>
    doAndUndo(connection, () => onGone(connection, goneOf('erase', scope, days))),
  );
}
