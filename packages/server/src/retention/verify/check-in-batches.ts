/** How a list is checked batch by batch. */
type BatchCheck<T> = {
  /** How many make a batch. */
  readonly most: number;
  /** Whether one is checked at once, without others; none by default. */
  readonly isLarge?: (item: T) => boolean;
  /** Finds those of a batch, at least two, of which nothing differs. */
  readonly findRight: (batch: readonly T[]) => Promise<ReadonlySet<T>>;
  /** Checks one, and tells what is wrong. Returns whether nothing differs. */
  readonly checkOne: (item: T) => Promise<boolean>;
  readonly signal: AbortSignal;
};

/**
 * Checks a list, small ones a batch at a time: for those, most of the time goes into the statements. A batch only finds
 * out which of them are right. All others are checked one by one. Returns those of which nothing differs.
 */
export async function checkInBatches<T>(
  items: AsyncIterable<T>,
  { most, isLarge, findRight, checkOne, signal }: BatchCheck<T>,
): Promise<T[]> {
  const right: T[] = [];
  const check = async (batch: readonly T[]) => {
    const found = batch.length < 2 ? new Set<T>() : await findRight(batch);
    for (const item of batch) {
      signal.throwIfAborted();
      if (found.has(item) || (await checkOne(item))) right.push(item);
    }
  };
  let batch: T[] = [];
  for await (const item of items) {
    if (isLarge?.(item)) await check([item]);
    else batch.push(item);
    if (batch.length < most) continue;
    await check(batch);
    batch = [];
  }
  await check(batch);
  return right;
}
