import { useCallback, useMemo, useRef, useState } from 'react';

/** The selected rows, by their keys. */
export type Selection = {
  readonly keys: ReadonlySet<string>;
  /** Selects a row or not. With `isRange`, all from the one toggled last to this one become as this one. */
  readonly toggle: (key: string, isRange: boolean) => void;
  readonly setAll: (isSelected: boolean) => void;
};

/**
 * Keeps which of the rows shown are selected. A row that leaves the list also leaves the selection, for good, unless it is
 * `away`, from where it may come back.
 */
export function useSelection(shown: readonly string[], away: ReadonlySet<string>): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const rows = useRef(shown);
  rows.current = shown;
  const last = useRef<string | null>(null);
  const keys = useMemo(() => new Set(shown.filter((key) => chosen.has(key))), [shown, chosen]);
  const kept = [...chosen].filter((key) => keys.has(key) || away.has(key));
  if (kept.length < chosen.size) setChosen(new Set(kept));
  const toggle = useCallback((key: string, isRange: boolean) => {
    const from = isRange ? last.current : null;
    last.current = key;
    setChosen((before) => toggled(before, rangeOf(rows.current, from, key), !before.has(key)));
  }, []);
  const setAll = useCallback(
    (isSelected: boolean) => setChosen(new Set(isSelected ? rows.current : [])),
    [],
  );
  return useMemo(() => ({ keys, toggle, setAll }), [keys, toggle, setAll]);
}

/** The keys from one to the other, inclusive; only the second when the first is not in the list. */
export function rangeOf(rows: readonly string[], from: string | null, to: string): string[] {
  const start = from === null ? -1 : rows.indexOf(from);
  const end = rows.indexOf(to);
  if (start < 0 || end < 0) return [to];
  return rows.slice(Math.min(start, end), Math.max(start, end) + 1);
}

function toggled(
  before: ReadonlySet<string>,
  keys: readonly string[],
  isSelected: boolean,
): ReadonlySet<string> {
  const after = new Set(before);
  for (const key of keys) {
    if (isSelected) after.add(key);
    else after.delete(key);
  }
  return after;
}
