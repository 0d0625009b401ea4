import { useCallback, useEffect, useRef } from 'react';

/**
 * Returns the focus to where it was when what lies over the page goes away. Mantine does that for a dialog that closes,
 * but not for one that is removed. The answer is to be called before it opens.
 */
export function useFocusReturn(isOpen: boolean): () => void {
  const before = useRef<Element | null>(null);
  useEffect(() => {
    if (isOpen) return;
    if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus();
    before.current = null;
  }, [isOpen]);
  return useCallback(() => {
    before.current ??= document.activeElement;
  }, []);
}
