import type { MoveKind, MoveState } from '../../values.ts';
import type { Move, MoverContext } from '../move.ts';

/** A point in the life of a move: before or after the commit of a change of its state. */
export type Point = `${MoveState} ${'before' | 'after'}`;

/** The points at which a process may be killed that leave something to do. */
export const killPoints: readonly Point[] = [
  'planned after',
  'copied before',
  'copied after',
  'verified before',
  'verified after',
  'switched before',
  'switched after',
  'removed before',
];

/** Has a mover do something at a point of its moves, or only of those of a kind. */
export function at(
  point: Point,
  work: (move: Move) => unknown,
  kind?: MoveKind,
): Pick<MoverContext, 'onTransition'> {
  return {
    async onTransition(to, when, move) {
      const isOfKind = kind === undefined || move.kind === kind;
      if (isOfKind && `${to} ${when}` === point) await work(move);
    },
  };
}

/** Has a mover die at a point, as a process would that is killed there. */
export function dieAt(point: Point, kind?: MoveKind): ReturnType<typeof at> {
  const die = () => Promise.reject(new Error('killed'));
  return at(point, die, kind);
}
