import { randomInt } from 'node:crypto';
import { AppError } from '../../kernel/errors.ts';
import type { Log } from '../../platform/log.ts';
import type { Database, Queryable, Session } from '../../platform/postgres/database.ts';
import { rest } from '../../platform/work/repeat.ts';
import { allLanes, laneCount } from '../lanes.ts';
import { listenForDue } from '../queries.ts';
import { announceDrainer, followDueIndex, lockLanes, surveyLanes, unlockLanes } from './queries.ts';

const reconnectMillis = 500;

export type LaneHolder = {
  /** The lanes that this drainer works on now. The set changes as drainers come and go. */
  readonly lanes: ReadonlySet<number>;
  /** By which the database knows this drainer as keeper. Claims under one that has lost a lane find nothing there. */
  readonly keeper: number;
  /** The session that holds the lanes, for claims. Statements fail while there is none. */
  readonly session: Queryable;
  /** The time of the database, in seconds since 1970, as it was told when the lanes were last looked at. */
  wallSeconds(): number;
  stop(): Promise<void>;
};

/**
 * Shares the lanes among all drainers of the database, by advisory locks in a session of each.
 *
 * A drainer that dies loses its locks at once. The server ends the session of one that is frozen when all of its leases
 * have run out. When that wakes up, its claims find nothing, because the lanes have another keeper in the database.
 */
export function holdLanes(
  db: Database,
  options: {
    log: Log;
    leaseSeconds: number;
    /** How often it looks whether its part of the lanes is right, and so speaks to the database. */
    balanceMillis: number;
    /** Is called when lanes were gained, which may have deliveries due. */
    onGain: () => void;
    /** Is called when deliveries are due. The payload is endpoint ids separated by spaces, or `*` for all. */
    onDue: (payload: string) => void;
  },
): LaneHolder {
  const lanes = new Set<number>();
  const stopping = new AbortController();
  // The drainer speaks every `balanceMillis`. A lease that it took just after it last spoke must have run out, too,
  // before its lanes are given to another.
  const { leaseSeconds, balanceMillis } = options;
  const silenceSeconds = leaseSeconds + balanceMillis / 1000;
  let current: Session | undefined;
  /** The time of the database when the monotonic clock of this process began. */
  let originMillis = 0;
  const holder: LaneHolder & { keeper: number } = {
    lanes,
    keeper: 0,
    session: {
      async query(statement, options) {
        if (current === undefined) {
          throw new AppError('database_unavailable', { detail: 'The drainer has no session now.' });
        }
        return current.query(statement, options);
      },
    },
    wallSeconds: () => Math.floor((originMillis + performance.now()) / 1000),
    async stop() {
      stopping.abort();
      await ended;
    },
  };
  const ended = run();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await holdWithSession();
      } catch (error) {
        options.log.warn({ err: error }, 'the drainer lost its session; it opens another');
      }
      await rest(reconnectMillis, stopping.signal);
    }
  }

  async function holdWithSession(): Promise<void> {
    const session = await db.openSession({ silenceSeconds });
    // The lanes go at once: another drainer may hold them by now, and a drainer that was frozen must not go on with
    // them.
    session.lost.addEventListener('abort', () => lanes.clear(), { once: true });
    holder.keeper = randomInt(1, 2 ** 48 - 1);
    try {
      await followDueIndex(session, 'session');
      current = session;
      session.onNotification(options.onDue);
      await listenForDue(session);
      await announceDrainer(session);
      const until = AbortSignal.any([stopping.signal, session.lost]);
      while (!until.aborted) {
        await balance(session);
        await rest(balanceMillis, until);
      }
      if (!stopping.signal.aborted) throw new Error('the database ended the session');
    } finally {
      current = undefined;
      await session.close();
      lanes.clear();
    }
  }

  async function balance(session: Session): Promise<void> {
    const askedAt = performance.now();
    const { drainers, held, now_millis: nowMillis } = await surveyLanes(session);
    originMillis = nowMillis - (askedAt + performance.now()) / 2;
    const share = Math.ceil(laneCount / Math.max(1, drainers));
    if (lanes.size > share) {
      const given = [...lanes].slice(share);
      // The lanes leave the set before they are unlocked, so that nothing is claimed in a lane that another already
      // has.
      for (const lane of given) lanes.delete(lane);
      await unlockLanes(session, given);
    } else if (lanes.size < share) {
      const taken = new Set(held);
      const free = allLanes.filter((lane) => !taken.has(lane)).slice(0, share - lanes.size);
      const terms = { keeper: holder.keeper, silenceSeconds };
      const gained = free.length === 0 ? [] : await lockLanes(session, free, terms);
      for (const lane of gained) lanes.add(lane);
      if (gained.length > 0) options.onGain();
    }
  }

  return holder;
}
