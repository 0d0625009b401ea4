import { setTimeout } from 'node:timers/promises';

/** Lets something be made once, for the first who asks, however many ask. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

type Keeping<T> = {
  /** For so long what was read is told again. */
  readonly keepMillis: number;
  /** Nobody waits longer than this for a reading. */
  readonly limitMillis: number;
  /** Says what whoever asks learns from a reading that takes longer, or throws it. */
  readonly late: () => T;
};

/**
 * Lets something be read anew once it is older than `keepMillis`. All who ask meanwhile join one reading. It stays the
 * only one until it has ended, also when it is late: what hangs is never asked twice at once. So one that holds a
 * connection must have an end of its own.
 */
export function keepFor<T>(
  read: () => Promise<T>,
  { keepMillis, limitMillis, late }: Keeping<T>,
): () => Promise<T> {
  let kept: { value: T; until: number } | undefined;
  let reading: Promise<T> | undefined;
  const readAnew = async () => {
    const value = await read();
    kept = { value, until: performance.now() + keepMillis };
    return value;
  };
  const begin = () => {
    const ended = new AbortController();
    const running = readAnew();
    const waiting = setTimeout(limitMillis, null, { ref: false, signal: ended.signal }).then(late);
    const first = Promise.race([running, waiting]);
    const end = () => {
      reading = undefined;
      ended.abort();
    };
    running.then(end, end);
    return first;
  };
  return () => {
    if (kept !== undefined && performance.now() < kept.until) return Promise.resolve(kept.value);
    reading ??= begin();
    return reading;
  };
}
