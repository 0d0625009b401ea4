import { createGate } from './gate.ts';

/**
 * Does work on all items, on so many at once, and returns what came of each in their order. The first failure aborts the
 * others, and is thrown when none of them is at work any more.
 */
export async function sideBySide<Item, Result>(
  items: readonly Item[],
  { atOnce, signal }: { readonly atOnce: number; readonly signal: AbortSignal },
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const gate = createGate(atOnce);
  const failing = new AbortController();
  const own = AbortSignal.any([signal, failing.signal]);
  const works = items.map((item) =>
    gate.run(async () => {
      own.throwIfAborted();
      try {
        return await work(item, own);
      } catch (error) {
        failing.abort(error);
        throw error;
      }
    }),
  );
  await Promise.allSettled(works);
  // The others may have failed only because they were aborted.
  failing.signal.throwIfAborted();
  return Promise.all(works);
}
