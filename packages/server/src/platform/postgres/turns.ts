import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Shares places out among callers: they take turns, however much each of them asks for, and while several call, each has
 * at most its share. (A pool alone serves first come, first served: a caller with 200 requests under way made all others
 * wait for as many statements. And a place of one's own is not enough: beside 23 others a statement takes as many times as
 * long as the machine has too few cores for them.)
 */
export type Turns = {
  /** Returns what frees a place, or throws when none comes in time. Holders go first: they might all wait for another. */
  readonly take: () => Promise<() => void>;
  /**
   * Does `work`, and what it starts, as this caller. All else, such as batches and repeated work, is the process's own.
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

/** Who asks, and of which turns. */
type Caller = { readonly turns: object; readonly name: string; readonly isHolding: boolean };

/** Whose work it is. One for the whole process: each ever used costs every promise a property, for good. */
const current = new AsyncLocalStorage<Caller>();

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
  const lines = new Lines(share, now);
  const first: Waiter[] = [];
  let free = options.places;
  let waiting = 0;

  function admit(): void {
    while (free > 0 && waiting > 0) {
      const waiter = first.shift() ?? lines.next();
      if (waiter === undefined) return;
      waiting -= 1;
      waiter.enter();
    }
  }

  function occupy(name: string): () => void {
    const line = lines.of(name);
    free -= 1;
    line.held += 1;
    return () => {
      free += 1;
      line.held -= 1;
      lines.forget(name, line);
      admit();
    };
  }

  /** A caller of other turns is none of these. */
  function readCaller(): Omit<Caller, 'turns'> {
    const caller = current.getStore();
    return caller?.turns === lines ? caller : { name: itself, isHolding: false };
  }

  return {
    async take() {
      const { name, isHolding } = readCaller();
      lines.noteCall(name);
      // Whoever waits while a place is free may not have it, so nobody is overtaken.
      if (free > 0 && (isHolding || lines.mayTake(name))) return occupy(name);
      const line = lines.of(name);
      const queue = isHolding ? first : line.waiters;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(waiter), 1);
          waiting -= 1;
          lines.forget(name, line);
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
    as: (name, work) => current.run({ turns: lines, name, isHolding: false }, work),
    holding: (work) =>
      current.run({ turns: lines, name: readCaller().name, isHolding: true }, work),
    waiting: () => waiting,
  };
}

/** The callers who hold places or wait, the next whose turn it is first, and which of them may have one more place. */
class Lines {
  readonly #lines = new Map<string, Line>();
  readonly #share: number;
  readonly #now: () => number;
  /** Who asked last, and who did before, other than that one. */
  #last = { name: itself, at: -Infinity };
  #before = { name: itself, at: -Infinity };

  constructor(share: number, now: () => number) {
    this.#share = share;
    this.#now = now;
  }

  noteCall(name: string): void {
    if (name === itself) return;
    if (name !== this.#last.name) this.#before = this.#last;
    this.#last = { name, at: this.#now() };
  }

  /** Whether the caller may have one more place, if there is one. */
  mayTake(name: string): boolean {
    if (name === itself || (this.#lines.get(name)?.held ?? 0) < this.#share) return true;
    const other = this.#last.name === name ? this.#before : this.#last;
    return this.#now() - other.at > presentMillis;
  }

  of(name: string): Line {
    const line = this.#lines.get(name) ?? { held: 0, waiters: [] };
    this.#lines.set(name, line);
    return line;
  }

  /** Takes who is next out of the lines. The caller's next turn comes after those of all others. */
  next(): Waiter | undefined {
    for (const [name, line] of this.#lines) {
      if (line.waiters.length === 0 || !this.mayTake(name)) continue;
      this.#lines.delete(name);
      this.#lines.set(name, line);
      return line.waiters.shift();
    }
    return undefined;
  }

  /** Forgets the caller of a line in which nothing is left. */
  forget(name: string, { held, waiters }: Line): void {
    if (held === 0 && waiters.length === 0) this.#lines.delete(name);
  }
}
