import { createGate, type Gate } from '../../kernel/gate.ts';
import type { Triple } from '../../records/segments.ts';

/** How many tenants a process works on at once. Small moves wait for the disk and for PostgreSQL most of their time. */
export const tenantsAtOnce = 4;

/**
 * Says when the moves of several tenants go on. Small ones go on side by side, any other alone: DuckDB has memory for one
 * of these.
 */
export type Turns = Gate;

export function createTurns(): Turns {
  return createGate(tenantsAtOnce);
}

/** Small moves read and write no more than this. */
const smallCount = 20_000;
const smallBytes = 4 * 1024 * 1024;

/** Whether a move of these records, given by days or segments, can go on beside others. */
export function isSmall(parts: readonly Omit<Triple, 'digest'>[]): boolean {
  const sum = (of: 'count' | 'bytes') => parts.reduce((total, part) => total + part[of], 0);
  return sum('count') <= smallCount && sum('bytes') <= smallBytes;
}

/** How many turns a move takes. Of one that another process began nobody knows how large it is. */
export function turnsOf(move: { readonly isSmall?: boolean }): number {
  return move.isSmall === true ? 1 : tenantsAtOnce;
}
