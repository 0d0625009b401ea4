import type { MoveKind } from '../contract.ts';
import { compactKind } from './compact.ts';
import { deleteKind } from './kinds/delete.ts';
import { eraseKind } from './kinds/erase.ts';
import type { KindSteps } from './kinds.ts';
import type { Move } from './move.ts';
import { moveKind } from './move-hot-days.ts';

/** What the move's kind does by itself. */
export function stepsOf({ kind }: Move): KindSteps {
  return stepsOfKinds[kind];
}

const stepsOfKinds: Record<MoveKind, KindSteps> = {
  move: moveKind,
  compact: compactKind,
  delete: deleteKind,
  erase: eraseKind,
};
