import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';

type Table = RefObject<HTMLTableElement | null>;

/**
 * The row that is a tab stop. When the active row leaves the list, the one that took its place is active
 * in its stead, and has the focus if that would be lost otherwise.
 */
export function useFocusKept(props: {
  keys: readonly string[];
  active: string | null;
  setActive: (key: string) => void;
  table: Table;
}): string | null {
  const { keys, active, setActive, table } = props;
  const last = useRef({ at: 0, hadFocus: false });
  const at = active === null ? -1 : keys.indexOf(active);
  const shownAt = at >= 0 ? at : Math.min(last.current.at, keys.length - 1);
  const shown = keys[Math.max(0, shownAt)] ?? null;
  // A row that has the focus loses it silently when it goes: remember before it does.
  const hasFocus = table.current?.contains(document.activeElement) ?? false;
  if (at >= 0) last.current = { at, hadFocus: hasFocus };
  useLayoutEffect(() => {
    if (at >= 0 || active === null || shown === null) return;
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (last.current.hadFocus && isLost) {
      table.current?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(shown)}"]`)?.focus();
    } else {
      setActive(shown);
    }
  }, [at, active, shown, setActive, table]);
  return shown;
}

/** When the drawer closes, focus goes back to the row it was opened from. */
export function useFocusBack(open: string | undefined, table: Table): void {
  const last = useRef(open);
  useEffect(() => {
    const before = last.current;
    last.current = open;
    if (before === undefined || open !== undefined) return;
    const focused = document.activeElement;
    if (focused !== null && focused !== document.body && !focused.closest('[data-drawer]')) return;
    table.current?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(before)}"]`)?.focus();
  }, [open, table]);
}
