import { LRUCache } from 'lru-cache';
import sql from 'sql-template-tag';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from './database.ts';

/** A limit kept by all processes: a subject, such as a token, may use `perMinute` at once, which comes back evenly. */
export type Limit = { readonly name: string; readonly perMinute: number };

/** What subjects have used of limits, in a table. Only the clock of the database counts there. */
type LimitUse = {
  /** Adds what subjects have used, whatever is left of it. Returns what each has used now, by all processes. */
  add(
    limit: Limit,
    amounts: ReadonlyMap<string, number>,
  ): Promise<{ subject: string; used: number }[]>;
  /** Uses one if the subject has one left, and returns whether it had. */
  take(limit: Limit, subject: string): Promise<boolean>;
  giveBack(limit: Limit, subject: string): Promise<void>;
};

const tellMillis = 1000;
const forgetMillis = 60_000;
/** The part of a limit that a process may let through before it has told the others. */
const untoldShare = 0.02;

type SharedLimit = {
  /** Uses one. Returns 0, or the seconds to wait; a promise where others must be told first, as for fast requests. */
  take(subject: string): number | Promise<number>;
  /** Returns what the subject has left, as far as this process knows, and in how many seconds it has all again. */
  left(subject: string): { remaining: number; fullInSeconds: number };
  /** Tells the others what was used here. */
  flush(): Promise<void>;
};

/**
 * Keeps a limit without asking the database for each request. Each process counts by itself, and tells the table what
 * its subjects have used: every second, and sooner when that is a hundredth of their limit. The answer says what all
 * have used. A process that has told nothing for 2 % of a limit (rounded up) awaits the answer first. So n processes
 * let through at most n - 1 times 2 % more than one would; one that is killed forgets at most as much. While the table
 * cannot be written, each process keeps the limit by itself.
 */
export function createSharedLimit(
  db: Queryable,
  limit: Limit,
  { clock, onError }: { clock: Clock; onError: (error: unknown) => void },
): SharedLimit {
  const { perMinute } = limit;
  const perMilli = perMinute / 60_000;
  const mostUntold = Math.ceil(perMinute * untoldShare);
  const use = openLimitUse(db, clock);
  // Memory is bounded. Whoever was dropped is known again with the next answer.
  const known = new LRUCache<string, { used: number; atMillis: number }>({ max: 10_000 });
  let untold = new Map<string, number>();
  /** What is being told at the moment. */
  let told: ReadonlyMap<string, number> = new Map();
  let telling: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function exchange(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    told = untold;
    untold = new Map();
    try {
      for (const { subject, used } of await use.add(limit, told)) {
        known.set(subject, { used: used + (untold.get(subject) ?? 0), atMillis: clock() });
      }
    } catch (error) {
      onError(error);
    }
    told = new Map();
    telling = undefined;
    if (untold.size > 0) tellSoon();
  }
  function tell(): Promise<void> {
    telling ??= exchange();
    return telling;
  }
  function tellSoon(): void {
    if (telling !== undefined) return;
    timer ??= setTimeout(() => void tell(), tellMillis).unref();
  }
  /** What the subject has used by now, of which something has come back since it was noted. */
  function useOf(subject: string): { used: number; atMillis: number } {
    const now = clock();
    const own = known.get(subject) ?? { used: 0, atMillis: now };
    own.used = Math.max(0, own.used - Math.max(0, now - own.atMillis) * perMilli);
    own.atMillis = now;
    known.set(subject, own);
    return own;
  }
  function take(subject: string): number | Promise<number> {
    const own = useOf(subject);
    const over = own.used + 1 - perMinute;
    if (over > 0) return Math.max(1, Math.ceil(over / perMilli / 1000));
    const untoldHere = untold.get(subject) ?? 0;
    const open = untoldHere + (told.get(subject) ?? 0);
    if (open >= mostUntold) return tell().then(() => take(subject));
    own.used += 1;
    untold.set(subject, untoldHere + 1);
    if (open + 1 >= mostUntold / 2) void tell();
    else tellSoon();
    return 0;
  }
  return {
    take,
    left(subject) {
      const { used } = useOf(subject);
      const remaining = Math.max(0, Math.floor(perMinute - used));
      return { remaining, fullInSeconds: Math.ceil(used / perMilli / 1000) };
    },
    async flush() {
      await telling;
      clearTimeout(timer);
      if (untold.size > 0) await tell();
    },
  };
}

/** Opens the table of what was used. Rows that say nothing any more are removed, at most once a minute. */
export function openLimitUse(db: Queryable, clock: Clock): LimitUse {
  let forgottenAtMillis = 0;
  const forgetSometimes = async () => {
    if (Math.abs(clock() - forgottenAtMillis) < forgetMillis) return;
    forgottenAtMillis = clock();
    await db.query(sql`delete from limit_use where at < now() - interval '10 minutes'`);
  };
  return {
    async add({ name, perMinute }, amounts) {
      await forgetSometimes();
      const subjects = [...amounts.keys()];
      // All processes lock the rows in the same order.
      return db.query(sql`
        insert into limit_use as known (name, subject, used, at)
        select ${name}::text, subject, amount, now()
        from unnest(${subjects}::text[], ${[...amounts.values()]}::float8[]) as given (subject, amount)
        order by subject collate "C"
        on conflict (name, subject) do update
          set used = ${usedNow(perMinute)} + excluded.used, at = excluded.at
        returning subject, used`);
    },
    async take({ name, perMinute }, subject) {
      await forgetSometimes();
      const rows = await db.query(sql`
        insert into limit_use as known (name, subject, used, at) values (${name}, ${subject}, 1, now())
        on conflict (name, subject) do update
          set used = ${usedNow(perMinute)} + 1, at = excluded.at
          where ${usedNow(perMinute)} + 1 <= ${perMinute}::float8
        returning subject`);
      return rows.length > 0;
    },
    async giveBack({ name }, subject) {
      await db.query(sql`
        update limit_use set used = greatest(0, used - 1) where name = ${name} and subject = ${subject}`);
    },
  };
}

/** What a subject has used by now, of which something has come back since it was written down. */
function usedNow(perMinute: number) {
  return sql`greatest(0, known.used
    - greatest(0, extract(epoch from excluded.at - known.at)) * ${perMinute}::float8 / 60)`;
}
