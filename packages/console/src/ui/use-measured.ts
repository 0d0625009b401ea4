import { type RefObject, useEffectEvent, useLayoutEffect, useState } from 'react';

/** A measure of an element in pixels, whenever its size changes; null before it is known. */
export function useMeasured(
  ref: RefObject<HTMLElement | null>,
  measureOf: (element: HTMLElement) => number,
): number | null {
  const [px, setPx] = useState<number | null>(null);
  const read = useEffectEvent(measureOf);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = () => setPx(read(element));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return px;
}
