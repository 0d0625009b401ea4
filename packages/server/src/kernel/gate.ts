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
 * Limits what is held at once, such as bytes or places. `take` returns false when it does not fit; whoever took something
 * gives it back.
 */
export type Budget = { take(amount: number): boolean; give(amount: number): void };

/** A budget of which each holder may have only a part, so that whoever takes most leaves something to the others. */
export type SharedBudget = {
  of(holder: string): Budget;
  /** Whether nothing is left for anybody. */
  isFull(): boolean;
};

export function createSharedBudget(limits: { total: number; each: number }): SharedBudget {
  const { total, each } = limits;
  // Only who holds something is remembered.
  const holders = new Map<string, number>();
  let taken = 0;
  return {
    isFull: () => taken >= total,
    of: (holder) => ({
      take(amount) {
        const own = (holders.get(holder) ?? 0) + amount;
        if (own > each || taken + amount > total) return false;
        taken += amount;
        holders.set(holder, own);
        return true;
      },
      give(amount) {
        const own = (holders.get(holder) ?? 0) - amount;
        taken -= amount;
        if (own > 0) holders.set(holder, own);
        else holders.delete(holder);
      },
    }),
  };
}
