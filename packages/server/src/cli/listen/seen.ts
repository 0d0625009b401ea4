const mostIds = 100_000;

/** Remembers ids, the latest hundred thousand, so that a receiver may run for days. */
export function createSeen(most = mostIds): { has(id: string): boolean; add(id: string): void } {
  const ids = new Set<string>();
  return {
    has: (id) => ids.has(id),
    add(id) {
      ids.delete(id);
      ids.add(id);
      const [oldest] = ids;
      if (ids.size > most && oldest !== undefined) ids.delete(oldest);
    },
  };
}
