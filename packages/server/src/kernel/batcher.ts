import { AsyncResource } from 'node:async_hooks';
import { AppError, type ErrorCode } from './errors.ts';

/** Does the work of many callers together, because that is cheaper. */
type Batcher<T, R> = {
  /**
   * Does the work of one caller and returns its result. If little is under way it begins at once; otherwise it waits
   * for that, and is then done together with whatever else has come.
   */
  run(item: T): Promise<R>;
};

type Waiting<T, R> = {
  item: T;
  resolve: (result: R | Promise<R>) => void;
  reject: (error: unknown) => void;
};

/** If what is under way takes longer than this, others no longer wait for it. */
const patienceMillis = 50;
const usualFewCallers = 3;

/**
 * Batches the work of callers that come at the same time, as databases do with their commits. The work of a caller
 * begins after it has come, never before. No caller waits for others to come, and none fails because of another: when
 * the work of several was refused, it is done again for each alone.
 */
export function createBatcher<T, R>(options: {
  /** Does the work of one. */
  alone: (item: T) => Promise<R>;
  /** Does the work of several, and returns the result of each, or null for one that must be done alone. */
  together: (items: readonly T[]) => Promise<readonly (R | null)[]>;
  /** The weight of an item, such as its rows, and the most that one group has. */
  weigh: (item: T) => number;
  mostWeight: number;
  /** While fewer callers than this are served, the next one need not wait for them: there is little to gain. */
  fewCallers?: number;
}): Batcher<T, R> {
  const { alone, together, weigh, mostWeight, fewCallers = usualFewCallers } = options;
  const queue: Waiting<T, R>[] = [];
  /** How many callers are being served for whom others still wait. */
  let ahead = 0;

  // What is done for several is done in the name of none of them, whoever came first.
  const work = AsyncResource.bind(async (group: readonly Waiting<T, R>[]): Promise<void> => {
    const [first] = group;
    if (first !== undefined && group.length === 1) {
      const done = alone(first.item);
      first.resolve(done);
      await done.catch(() => {});
      return;
    }
    try {
      const results = await together(group.map(({ item }) => item));
      for (const [index, { item, resolve }] of group.entries()) {
        const result = results[index] ?? null;
        resolve(result === null ? alone(item) : result);
      }
    } catch (error) {
      for (const { item, resolve, reject } of group) {
        if (isOutage(error)) reject(error);
        else resolve(alone(item));
      }
    }
  });

  function begin(): void {
    const group = takeGroup();
    if (group.length === 0) return;
    ahead += group.length;
    let isAhead = true;
    const letPass = () => {
      if (!isAhead) return;
      isAhead = false;
      ahead -= group.length;
      if (ahead < fewCallers) begin();
    };
    const timer = setTimeout(letPass, patienceMillis);
    void work(group).then(() => {
      clearTimeout(timer);
      letPass();
    });
  }

  function takeGroup(): Waiting<T, R>[] {
    let weight = 0;
    let count = 0;
    for (const { item } of queue) {
      weight += weigh(item);
      if (count > 0 && weight > mostWeight) break;
      count += 1;
    }
    return queue.splice(0, count);
  }

  return {
    run: (item) =>
      new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        if (ahead < fewCallers) begin();
      }),
  };
}

/** Whether an error would meet each caller alone as well, or leaves open whether the work was done. */
function isOutage(error: unknown): boolean {
  return error instanceof AppError && outages.has(error.code);
}

const outages: ReadonlySet<ErrorCode> = new Set([
  'database_unavailable',
  'read_only',
  'database_full',
  'database_out_of_memory',
]);
