import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Shares places out among callers: they take turns, however much each of them asks for, and while several call, each has
 * at most its share. (A pool alone serves first come, first served: a caller with 200 requests under way made all others
 * wait for as many statements. And a place of one's own is not enough: beside 23 others a statement takes as many times as
 * long as the machine has too few cores for them.)
 */
export type Turns = {
  /**
   * Waits for a place and returns what gives it back. Throws when none came in time. Who holds a place already goes
   * first: those who hold all places might otherwise all wait for a second one.
   */
  readonly take: () => Promise<() => void>;
  /**
   * Does `work`, and whatever it starts, as this caller. Anything else is work of the process itself, as is what a batcher
   * does for several, or work that is repeated.
   */
  readonly as: <T>(caller: string, work: () => T) => T;
  /** Does `work` as the same caller, who holds a place for as long as that lasts. */
  readonly holding: <T>(work: () => T) => T;
  /** How many wait for a place. */
  readonly waiting: () => number;
};

type Waiter = { enter(): void };
type Line = { held: number; readonly waiters: Waiter[] };

/** The name of the process itself. It has no share: it looks up the tokens of all, and works for all. */
const itself = '';

/** A caller who has asked for nothing for so long is not there any more. */
const presentMillis = 1000;

/** `share` is how many places a caller may have while others call. */
export function createTurns(options: {
  places: number;
  share: number;
  patienceMillis: number;
  now?: () => number;
}): Turns {
  const { share, patienceMillis, now = () => performance.now() } = options;
  const current = new AsyncLocalStorage<{ name: string; isHolding: boolean }>();
  /** Who holds places or waits, the next whose turn it is first. */
  const lines = new Map<string, Line>();
  const first: Waiter[] = [];
  let free = options.places;
  let waiting = 0;
  /** Who asked last, and who did before, other than that one. */
  let [last, before] = [
    { name: itself, at: -Infinity },
    { name: itself, at: -Infinity },
  ];

  function noteCall(name: string): void {
    if (name === itself) return;
    if (name !== last.name) before = last;
    last = { name, at: now() };
  }

  /** Whether the caller may have one more place, if there is one. */
  function mayTake(name: string): boolean {
    if (name === itself || (lines.get(name)?.held ?? 0) < share) return true;
    const other = last.name === name ? before : last;
    return now() - other.at > presentMillis;
  }

  function lineOf(name: string): Line {
    const line = lines.get(name) ?? { held: 0, waiters: [] };
    lines.set(name, line);
    return line;
  }

  /** Takes who is next out of the queues. */
  function next(): Waiter | undefined {
    const holder = first.shift();
    if (holder !== undefined) return holder;
    for (const [name, { waiters }] of lines) {
      if (waiters.length > 0 && mayTake(name)) return shift(name);
    }
    return undefined;
  }

  /** Takes the first of a caller's queue. The caller's next turn comes after those of all others. */
  function shift(name: string): Waiter | undefined {
    const line = lineOf(name);
    lines.delete(name);
    lines.set(name, line);
    return line.waiters.shift();
  }

  function admit(): void {
    while (free > 0 && waiting > 0) {
      const waiter = next();
      if (waiter === undefined) return;
      waiting -= 1;
      waiter.enter();
    }
  }

  function occupy(name: string): () => void {
    const line = lineOf(name);
    free -= 1;
    line.held += 1;
    return () => {
      free += 1;
      line.held -= 1;
      forget(name, line);
      admit();
    };
  }

  function forget(name: string, { held, waiters }: Line): void {
    if (held === 0 && waiters.length === 0) lines.delete(name);
  }

  return {
    async take() {
      const { name = itself, isHolding = false } = current.getStore() ?? {};
      noteCall(name);
      // Whoever waits while a place is free may not have it, so nobody is overtaken.
      if (free > 0 && (isHolding || mayTake(name))) return occupy(name);
      const line = lineOf(name);
      const queue = isHolding ? first : line.waiters;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(waiter), 1);
          waiting -= 1;
          forget(name, line);
          // As the pool says it, which errors.ts knows.
          reject(new Error('timeout exceeded when trying to connect'));
        }, patienceMillis);
        const waiter: Waiter = {
          enter() {
            clearTimeout(timer);
            resolve(occupy(name));
          },
        };
        queue.push(waiter);
        waiting += 1;
      });
    },
    as: (name, work) => current.run({ name, isHolding: false }, work),
    holding(work) {
      const { name = itself } = current.getStore() ?? {};
      return current.run({ name, isHolding: true }, work);
    },
    waiting: () => waiting,
  };
}
