import { useLocalStorage } from '@mantine/hooks';
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';

const stepPx = 16;

/** How wide a part may be, and how wide it is by itself, in pixels. */
export type WidthLimits = {
  readonly minPx: number;
  readonly maxPx: number;
  readonly ownPx: number;
};

type SeparatorProps = {
  className: string | undefined;
  label: string;
  title: string;
  /** The name under which this browser stores the width. */
  storageKey: string;
  /** The property of the style sheet that holds the width, on the parent of the line. */
  variable: `--${string}`;
  /** On which side of the line the part is whose width it sets. */
  side: 'left' | 'right';
  /** The limits, given the widths of the parent of the line and of the window. */
  limits: (widths: { parentPx: number; windowPx: number }) => WidthLimits;
};

/** The line beside a part: it is dragged or moved by keys, and a double click restores the width, without React. */
export function Separator(props: SeparatorProps): ReactNode {
  const { storageKey, variable, side } = props;
  const [kept, keep, forget] = useLocalStorage<number | null>({
    key: storageKey,
    defaultValue: null,
    getInitialValueInEffect: false,
    deserialize: (text) => (Number(text) > 0 ? Number(text) : null),
    serialize: String,
  });
  const [dragged, setDragged] = useState<number | null>(null);
  const line = useRef<HTMLHRElement>(null);
  const limits = props.limits(useWidths(line));
  /** Distance from the pointer to the line, in pixels. */
  const grip = useRef(0);
  const chosen = dragged ?? kept;
  const width = limit(chosen ?? limits.ownPx, limits);
  useLayoutEffect(() => {
    const parent = line.current?.parentElement;
    if (chosen === null) parent?.style.removeProperty(variable);
    else parent?.style.setProperty(variable, `${width}px`);
  }, [chosen, width, variable]);

  /** Which way the part grows, along the axis of the pointer. */
  const sign = side === 'left' ? 1 : -1;
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    grip.current = width - sign * event.clientX;
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const next = limit(sign * event.clientX + grip.current, limits);
    // A click without a movement does not set a width.
    if (next !== width) setDragged(next);
  };
  const onPointerUp = () => {
    if (dragged !== null) keep(dragged);
    setDragged(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = widthByKey(event.key, width, { ...limits, sign });
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keep(limit(next, limits));
  };
  return (
    <hr
      ref={line}
      className={props.className}
      aria-label={props.label}
      aria-orientation="vertical"
      aria-valuenow={width}
      aria-valuetext={`${width} px`}
      aria-valuemin={limits.minPx}
      aria-valuemax={limits.maxPx}
      tabIndex={0}
      title={props.title}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={() => setDragged(null)}
      onDoubleClick={forget}
      onKeyDown={onKeyDown}
    />
  );
}

/** The widths of the parent of an element and of the window. */
function useWidths(element: RefObject<HTMLElement | null>) {
  const [widths, setWidths] = useState({
    parentPx: window.innerWidth,
    windowPx: window.innerWidth,
  });
  useLayoutEffect(() => {
    const parent = element.current?.parentElement;
    if (!parent) return;
    const measure = () => setWidths({ parentPx: parent.clientWidth, windowPx: window.innerWidth });
    const observer = new ResizeObserver(measure);
    observer.observe(parent);
    window.addEventListener('resize', measure);
    measure();
    return () => {
      observer.disconnect();
      window.removeEventListener('resize', measure);
    };
  }, [element]);
  return widths;
}

function limit(px: number, { minPx, maxPx }: WidthLimits): number {
  return Math.round(Math.max(minPx, Math.min(px, maxPx)));
}

/** The width after a key press; null for a key that means nothing here. The arrows move the line. */
function widthByKey(key: string, width: number, by: WidthLimits & { sign: number }): number | null {
  const widths: Readonly<Record<string, number>> = {
    ArrowLeft: width - by.sign * stepPx,
    ArrowRight: width + by.sign * stepPx,
    Home: by.minPx,
    End: by.maxPx,
  };
  return widths[key] ?? null;
}
