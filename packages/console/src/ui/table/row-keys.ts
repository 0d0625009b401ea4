import { type KeyboardEvent, type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import { useKeys } from '../keys.ts';
import type { Selection } from './use-selection.ts';

type Table = RefObject<HTMLTableElement | null>;

/** The key of the row in which an element is. */
export function keyAt(element: Element): string | undefined {
  return element.closest<HTMLElement>('tr[data-key]')?.dataset.key;
}

/** The element of a row. */
export function rowOf(table: Table, key: string): HTMLElement | null {
  return table.current?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(key)}"]`) ?? null;
}

/** Answers a function that goes some rows on. The keys j and k call it, too. */
export function useSteps(props: {
  keys: readonly string[];
  /** Key of the row that is a tab stop. */
  shown: string | null;
  open: string | undefined;
  setActive: (key: string) => void;
  onOpen: ((key: string) => void) | undefined;
  table: Table;
}): (step: number) => void {
  const { keys, shown, open, table } = props;
  const move = (step: number) => {
    const isInside = table.current?.contains(document.activeElement) ?? false;
    const at = shown === null ? 0 : keys.indexOf(shown);
    const next = open === undefined && !isInside ? at : at + step;
    const key = keys[Math.min(keys.length - 1, Math.max(0, next))];
    if (key === undefined) return;
    props.setActive(key);
    const row = rowOf(table, key);
    // While the focus is in the drawer, the row is only scrolled into view: j and k work from there, too.
    if (open === undefined || isInside) row?.focus();
    else row?.scrollIntoView({ block: 'nearest' });
    if (open !== undefined && key !== open) props.onOpen?.(key);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  return move;
}

const chordMillis = 1_000;

/** Handles the keys that are pressed in a row. */
export function useRowKeys(props: {
  onOpen?: ((key: string) => void) | undefined;
  onRetry?: ((key: string) => void) | undefined;
  selection?: Selection | undefined;
  move: (step: number) => void;
}): (event: KeyboardEvent) => void {
  const chordAt = useRef(Number.NEGATIVE_INFINITY);
  return (event) => {
    const key = keyAt(event.target as Element);
    if (key === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    // The keys g r go to RECORDS; the r of these must not retry anything.
    const isChord = event.timeStamp - chordAt.current < chordMillis;
    if (event.key === 'g') chordAt.current = event.timeStamp;
    const isOnRow = event.target instanceof HTMLTableRowElement;
    const { onOpen, onRetry, selection } = props;
    const toggle = selection && (() => selection.toggle(key, event.key === 'X'));
    const actions: Record<string, (() => void) | undefined> = {
      ArrowDown: () => props.move(1),
      ArrowUp: () => props.move(-1),
      // On a link or a button in the row, these keys are for that.
      ...(isOnRow && { Enter: onOpen && (() => onOpen(key)), ' ': toggle }),
      // Of an r that is held, each repetition would be of the row that has the focus by then.
      ...(!isChord && { r: onRetry && (() => event.repeat || onRetry(key)), x: toggle, X: toggle }),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
}

/** The row that is a tab stop. When it leaves, the one in its place is, with the focus if that would be lost. */
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
  // When a focused row is removed, the focus is lost without an event. So this is noted before.
  const hasFocus = table.current?.contains(document.activeElement) ?? false;
  if (at >= 0) last.current = { at, hadFocus: hasFocus };
  useLayoutEffect(() => {
    if (at >= 0 || active === null || shown === null) return;
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (last.current.hadFocus && isLost) rowOf(table, shown)?.focus();
    else setActive(shown);
  }, [at, active, shown, setActive, table]);
  return shown;
}

/** When the drawer closes, returns the focus to the row from which it was opened. */
export function useFocusBack(open: string | undefined, table: Table): void {
  const last = useRef(open);
  useEffect(() => {
    const before = last.current;
    last.current = open;
    if (before === undefined || open !== undefined) return;
    const focused = document.activeElement;
    if (focused !== null && focused !== document.body && !focused.closest('[data-drawer]')) return;
    rowOf(table, before)?.focus();
  }, [open, table]);
}
