import { useLocalStorage, useWindowEvent } from '@mantine/hooks';
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import classes from '../page.module.css';

const minPx = 240;
const stepPx = 16;

/**
 * The line between the tree and the rest. It can be dragged or moved by the arrow keys; a double click restores the
 * default width. The width is stored in this browser. It is set as `--tree-width` without React, so that nothing is
 * drawn again while it is dragged.
 */
export function TreeSeparator(): ReactNode {
  const [kept, keep, forget] = useLocalStorage<number | null>({
    key: 'svcctl.tree-width',
    defaultValue: null,
    getInitialValueInEffect: false,
    deserialize: (text) => (Number(text) > 0 ? Number(text) : null),
    serialize: String,
  });
  const [dragged, setDragged] = useState<number | null>(null);
  const maxPx = useMaxPx();
  const line = useRef<HTMLHRElement>(null);
  /** Distance from the pointer to the line, in pixels. */
  const grip = useRef(0);
  const chosen = dragged ?? kept;
  const width = limit(chosen ?? ownWidth(), maxPx);
  useLayoutEffect(() => {
    const page = line.current?.parentElement;
    if (chosen === null) page?.style.removeProperty('--tree-width');
    else page?.style.setProperty('--tree-width', `${width}px`);
  }, [chosen, width]);

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    grip.current = width - event.clientX;
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const next = limit(event.clientX + grip.current, maxPx);
    // A click without a movement does not set a width.
    if (next !== width) setDragged(next);
  };
  const onPointerUp = () => {
    if (dragged !== null) keep(dragged);
    setDragged(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = widthByKey(event.key, width, maxPx);
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keep(limit(next, maxPx));
  };
  return (
    <hr
      ref={line}
      className={classes.separator}
      aria-label="Width of the tree"
      aria-orientation="vertical"
      aria-valuenow={width}
      aria-valuetext={`${width} px`}
      aria-valuemin={minPx}
      aria-valuemax={maxPx}
      tabIndex={0}
      title="Drag to widen the tree; double click for its own width"
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={() => setDragged(null)}
      onDoubleClick={forget}
      onKeyDown={onKeyDown}
    />
  );
}

/** The largest width: half of the window, so that the records keep their room. */
function useMaxPx(): number {
  const [windowPx, setWindowPx] = useState(() => window.innerWidth);
  useWindowEvent('resize', () => setWindowPx(window.innerWidth));
  return Math.floor(windowPx / 2);
}

/** The default width; page.module.css has the same. */
function ownWidth(): number {
  return Math.round(Math.min(440, Math.max(368, window.innerWidth * 0.29)));
}

function limit(px: number, maxPx: number): number {
  return Math.round(Math.max(minPx, Math.min(px, maxPx)));
}

/** The width after a key press; null for a key that means nothing here. */
function widthByKey(key: string, width: number, maxPx: number): number | null {
  switch (key) {
    case 'ArrowLeft':
      return width - stepPx;
    case 'ArrowRight':
      return width + stepPx;
    case 'Home':
      return minPx;
    case 'End':
      return maxPx;
    default:
      return null;
  }
}
