/** Lets at most a fixed number of callers run at once. The others wait for their turn, first come, first served. */
export type Gate = {
  /**
   * Runs `work` once a place is free, or as many as it takes, and settles as `work` does. A failure gives the places
   * back as well.
   */
  run<T>(work: () => Promise<T>, taken?: number): Promise<T>;
};

export function createGate(places: number): Gate {
  let free = places;
  const waiting: { readonly taken: number; readonly enter: () => void }[] = [];

  /** Places go straight to those who wait, so that no newcomer overtakes the queue. */
  function admit(): void {
    for (let next = waiting[0]; next !== undefined && next.taken <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.taken;
      next.enter();
    }
  }

  return {
    async run(work, taken = 1) {
      if (waiting.length === 0 && taken <= free) free -= taken;
      else await new Promise<void>((enter) => waiting.push({ taken, enter }));
      try {
        return await work();
      } finally {
        free += taken;
        admit();
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
