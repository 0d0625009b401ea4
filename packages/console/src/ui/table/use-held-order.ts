import { useState } from 'react';
import { orderIds } from './column-layout.ts';

/** Whether the pointer or the focus is in the rows of the list. */
const isAttended = () => document.querySelector('tbody:is(:hover, :focus-within)') !== null;

type Held = {
  /** When the rows were read. */
  readonly at: number;
  /** Of which list they are. */
  readonly place: string;
  /** The keys of the rows as they are shown. */
  readonly keys: readonly string[];
};

/**
 * Rows that the service orders by what changes, such as the health of endpoints, in the order in which they are shown: while
 * somebody is at them, no row changes its place. Answers also what takes the new order; undefined while it is shown.
 */
export function useHeldOrder<Row>(list: {
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  place: string;
  /** When they were read: also what has not changed since is in order by then. */
  at: number;
  /** Whether they are no such rows, or still those of another place. */
  isLoose: boolean;
  /** Whether a panel shows one of them. */
  isOpen: boolean;
}): [rows: readonly Row[], adopt: (() => void) | undefined] {
  const { rows, keyOf, place, at, isLoose, isOpen } = list;
  const [held, setHeld] = useState<Held>({ at: 0, place, keys: [] });
  if (isLoose) return [rows, undefined];
  const own = rows.map(keyOf);
  let keys = orderIds(own, held.keys);
  if (held.at !== at || held.place !== place) {
    if (held.place !== place || !(isOpen || isAttended())) keys = own;
    setHeld({ at, place, keys });
  }
  if (keys.every((key, index) => key === own[index])) return [rows, undefined];
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  const ordered = keys.flatMap((key) => byKey.get(key) ?? []);
  return [ordered, () => setHeld({ at, place, keys: own })];
}
