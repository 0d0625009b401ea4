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

/** Bytes that may be held at once. `take` says whether they fit; what was taken is given back. */
export type Budget = {
  take(bytes: number): boolean;
  give(bytes: number): void;
};

export function createBudget(limitBytes: number): Budget {
  let taken = 0;
  return {
    take(bytes) {
      if (taken + bytes > limitBytes) return false;
      taken += bytes;
      return true;
    },
    give(bytes) {
      taken -= bytes;
    },
  };
}
