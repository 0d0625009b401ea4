import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';

/** Neighbouring bars, from the first to the last of them. */
export type Stretch = { readonly from: number; readonly to: number };

type BrushOptions = {
  /** How many bars there are. */
  readonly count: number;
  readonly chosen: Stretch | null;
  /** The bar at this place of the window. */
  readonly barAt: (clientX: number) => number;
  /** The width of a bar in pixels. */
  readonly barWidth: number;
  /** Called with the bars that were chosen; null means all of them. Undefined where none can be chosen. */
  readonly onChoose: ((stretch: Stretch | null, by: 'pointer' | 'key') => void) | undefined;
};

/** How near to an edge of what is chosen a drag begins that moves this edge. */
const edgePx = 5;

/**
 * Chooses neighbouring bars. With a pointer: a click takes one bar, dragging takes all between, dragging an edge of what
 * is chosen moves it, and a click on the only one chosen gives it back. With keys: Shift and an arrow take one bar more
 * or less, Enter takes the one that is looked at, and Shift + Enter all up to it.
 */
export function useBrush({ count, chosen, barAt, barWidth, onChoose }: BrushOptions) {
  const [drag, setDrag] = useState<{ anchor: number; head: number } | null>(null);
  /** The fixed end of what is chosen by key. */
  const anchor = useRef<number | null>(null);

  const toggle = (index: number, by: 'pointer' | 'key') => {
    const isOnly = chosen?.from === index && chosen.to === index;
    anchor.current = isOnly ? null : index;
    onChoose?.(isOnly ? null : { from: index, to: index }, by);
  };
  const extend = (index: number, by: 'pointer' | 'key') => {
    const from = anchorOf(chosen, anchor.current ?? index, index);
    anchor.current = from;
    onChoose?.(between(from, index), by);
  };

  const onPointerDown = (event: PointerEvent<Element>) => {
    if (onChoose === undefined || event.button !== 0 || !event.isPrimary) return;
    const index = barAt(event.clientX);
    if (event.shiftKey) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const isNear = (edge: number) =>
      Math.abs(barAt(event.clientX - edgePx) - barAt(event.clientX + edgePx)) === 1 &&
      barAt(event.clientX + edgePx) === edge;
    const isWide = barWidth > 2 * edgePx;
    if (chosen !== null && isWide && isNear(chosen.from)) {
      setDrag({ anchor: chosen.to, head: chosen.from });
    } else if (chosen !== null && isWide && isNear(chosen.to + 1)) {
      setDrag({ anchor: chosen.from, head: chosen.to });
    } else setDrag({ anchor: index, head: index });
  };
  const onPointerMove = (event: PointerEvent<Element>) => {
    if (drag === null) return;
    const head = barAt(event.clientX);
    if (head !== drag.head) setDrag({ ...drag, head });
  };
  const onPointerUp = (event: PointerEvent<Element>) => {
    const index = barAt(event.clientX);
    if (drag === null) {
      if (event.shiftKey && event.button === 0) extend(index, 'pointer');
      return;
    }
    setDrag(null);
    if (drag.anchor === index) return toggle(index, 'pointer');
    anchor.current = drag.anchor;
    onChoose?.(between(drag.anchor, index), 'pointer');
  };

  /** Answers a key on the bar that is looked at: returns the bar to look at then; undefined if it is no such key. */
  const onKey = (event: KeyboardEvent, at: number): number | undefined => {
    if (onChoose === undefined || event.ctrlKey || event.metaKey || event.altKey) return undefined;
    if (event.key === 'Enter') {
      if (event.shiftKey) extend(at, 'key');
      else toggle(at, 'key');
      return at;
    }
    if (!event.shiftKey) return undefined;
    const next = barAfterKey(event.key, at, count);
    if (next === undefined) return undefined;
    const isAtEnd = chosen !== null && (chosen.from === at || chosen.to === at);
    anchor.current = isAtEnd ? anchorOf(chosen, anchor.current ?? at, at) : at;
    onChoose(between(anchor.current, next), 'key');
    return next;
  };

  return {
    /** What is being chosen while a pointer drags, else what is chosen. */
    stretch: drag === null ? chosen : between(drag.anchor, drag.head),
    isDragging: drag !== null,
    onKey,
    handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel: () => setDrag(null) },
  };
}

/** The end of what is chosen that stays when the bar at `index` becomes the other end. */
function anchorOf(chosen: Stretch | null, anchor: number, index: number): number {
  if (chosen === null) return anchor;
  if (anchor === chosen.from || anchor === chosen.to) {
    // The end that is looked at moves, unless it is the only bar.
    if (anchor !== index || chosen.from === chosen.to) return anchor;
    return anchor === chosen.from ? chosen.to : chosen.from;
  }
  // Of what was chosen elsewhere, the end that is nearer moves.
  return index - chosen.from < chosen.to - index ? chosen.to : chosen.from;
}

/** The bar to which a key goes from this one; undefined when the key means nothing here. */
function barAfterKey(key: string, at: number, count: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    Home: 0,
    End: count - 1,
  };
  const target = targets[key];
  return target === undefined ? undefined : Math.min(count - 1, Math.max(0, target));
}

function between(a: number, b: number): Stretch {
  return { from: Math.min(a, b), to: Math.max(a, b) };
}
