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
