/** Lets at most `places` of those who ask run at once; the others wait their turn, first come first served. */
export type Gate = {
  run<T>(work: () => Promise<T>): Promise<T>;
};

export function createGate(places: number): Gate {
  let free = places;
  const waiting: (() => void)[] = [];
  return {
    async run(work) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
