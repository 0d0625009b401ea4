import { dayAfter } from '../../kernel/day.ts';
import {
  beyondLastDay,
  type DayTriple,
  type DayWindow,
  firstDay,
  type Gone,
} from '../../records/segments.ts';
import type { Move } from './move.ts';
import { type EraseScope, fromJournal, scopeOfDays } from './scope.ts';

/** What a move lets go for good; null for the kinds of moves that keep all records. */
export function toGone(move: Move, days: readonly DayTriple[]): Gone | null {
  const { tenant, kind, first_day, last_day } = move;
  switch (kind) {
    case 'move':
    case 'compact':
      return null;
    case 'delete':
      return goneOf('delete', scopeOfDays(tenant, first_day, last_day), days);
    case 'forget':
      // Only what the segment held is gone, whatever else there is of its days.
      return { tenant, kind: 'delete', days, window: null };
    case 'erase':
      return goneOf('erase', fromJournal(move), days);
  }
}

/** What leaves for good when these days of a scope are deleted. */
export function goneOf(kind: Gone['kind'], scope: EraseScope, days: readonly DayTriple[]): Gone {
  return { tenant: scope.tenant, kind, days, window: windowOf(scope) };
}

/**
 * The range of days that an erasure takes whole; null when it takes single event ids. Without bounds it takes all days.
 */
function windowOf({ store, eventIds, from, to }: EraseScope): DayWindow | null {
  if (eventIds !== null) return null;
  const until = to === null || to >= beyondLastDay ? beyondLastDay : dayAfter(to);
  return { store, from: from ?? firstDay, until };
}
