import { useWindowEvent } from '@mantine/hooks';
import { useEffect, useRef } from 'react';

/** Actions by key: `mod+k`, `?`, `/`, or two keys pressed one after the other: `g r`. */
type KeyMap = Readonly<Record<string, () => void>>;

const chordMillis = 1_000;

type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>;

/** The name of a key press in a KeyMap; undefined when the press is meant for the browser or a control. */
export function nameOfPress(press: Press, isTyping: boolean): string | undefined {
  const isModified = press.ctrlKey || press.metaKey;
  if (isModified) return press.altKey ? undefined : `mod+${press.key.toLowerCase()}`;
  if (isTyping || press.altKey || press.key.length !== 1 || press.key === ' ') return undefined;
  return press.key;
}

/** Runs the actions of a page's keys. Single keys do nothing while somebody types or a dialog is open. */
export function useKeys(keys: KeyMap): void {
  const first = useRef({ key: '', at: 0 });
  useWindowEvent('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const name = nameOfPress(event, isTyping(event.target) || isDialogOpen());
    if (name === undefined) return;
    const isChord = event.timeStamp - first.current.at < chordMillis;
    const action = (isChord && keys[`${first.current.key} ${name}`]) || keys[name];
    first.current = { key: name, at: event.timeStamp };
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** For a button that does nothing where it is not free, but takes the focus, so that one can learn why. */
export function whereFree(isFree: boolean, onClick: () => void) {
  return {
    'aria-disabled': !isFree,
    ...(!isFree && { 'data-disabled': true }),
    onClick: () => isFree && onClick(),
  };
}

/** The name of `mod` on this keyboard: Ctrl or ⌘. */
export function modKeyName(): string {
  return /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input, textarea, select'))
  );
}

function isDialogOpen(): boolean {
  return document.querySelector('[role="dialog"][aria-modal="true"]') !== null;
}

/** Returns the focus when what lies over the page is removed. The answer is to be called before it opens. */
export function useFocusReturn(isOpen: boolean): () => void {
  const before = useRef<Element | null>(null);
  useEffect(() => {
    if (isOpen) return;
    if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus();
    before.current = null;
  }, [isOpen]);
  return () => {
    before.current ??= document.activeElement;
  };
}
