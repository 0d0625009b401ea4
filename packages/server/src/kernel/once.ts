/** Lets something be made once, for the first who asks, however many ask. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Lets something be read anew once it is older than `keepMillis`. All who ask meanwhile join one reading. */
export function keepFor<T>(read: () => Promise<T>, keepMillis: number): () => Promise<T> {
  let kept: { value: T; until: number } | undefined;
  let reading: Promise<T> | undefined;
  const begin = async () => {
    try {
      const value = await read();
      kept = { value, until: performance.now() + keepMillis };
      return value;
    } finally {
      reading = undefined;
    }
  };
  return () => {
    if (kept !== undefined && performance.now() < kept.until) return Promise.resolve(kept.value);
    reading ??= begin();
    return reading;
  };
}
