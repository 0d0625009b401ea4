/** Gives what comes one by one in batches of so many; the last one may have fewer, and none is empty. */
export async function* batchesOf<T>(items: AsyncIterable<T>, most: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < most) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
