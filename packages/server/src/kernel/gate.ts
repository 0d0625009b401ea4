/** Lets at most a fixed number of callers run at once. The others wait for their turn, first come, first served. */
export type Gate = {
  /** Runs `work` once a place is free and settles as `work` does. A failure gives the place back as well. */
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
        // The place goes straight to the next who waits: if it became free first, a newcomer could overtake the queue.
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}

/**
 * Limits the bytes that are held at once. `take` returns false when they do not fit; whoever took bytes gives them
 * back.
 */
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
