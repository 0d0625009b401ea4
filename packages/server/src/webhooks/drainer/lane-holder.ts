import { randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../platform/log.ts';
import type { Database, Session } from '../../platform/postgres/database.ts';
import { laneCount } from '../lanes.ts';
import { listenForDue } from '../queries.ts';
import { announceDrainer, lockLanes, surveyLanes, unlockLanes } from './queries.ts';

const balanceMillis = 2000;
const millisPerSecond = 1000;
const reconnectMillis = 500;

export type LaneHolder = {
  /** The lanes that this drainer works now. */
  readonly lanes: ReadonlySet<number>;
  /** What the database knows it by: claims under a keeper that has lost a lane find nothing in it. */
  keeper(): number;
  /** Gives all lanes back. */
  stop(): Promise<void>;
};

/**
 * Shares the lanes among all drainers on the database: each holds an equal part, by advisory locks of a
 * session of its own. A drainer that dies loses its locks with its connection, at once. One that is frozen
 * says nothing any more, and the server ends its session when its leases have run out. Should it go on, it
 * finds that session lost; and until then the lanes' keeper in the database is another.
 */
export function holdLanes(
  db: Database,
  options: {
    log: Log;
    /** How long the leases of claims are. */
    leaseSeconds: number;
    /** Lanes were gained. */
    onGain: () => void;
    /** Deliveries are due: ids of endpoints separated by spaces, or `*`. */
    onDue: (payload: string) => void;
  },
): LaneHolder {
  const lanes = new Set<number>();
  const stopping = new AbortController();
  // A lease that was taken just after the last word must have run out, too.
  const silenceSeconds = options.leaseSeconds + balanceMillis / millisPerSecond;
  let keeper = 0;
  const ended = run();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await holdWithSession();
      } catch (error) {
        options.log.warn({ err: error }, 'the drainer lost its session; it opens another');
      }
      await pause(reconnectMillis, stopping.signal);
    }
  }

  async function holdWithSession(): Promise<void> {
    const session = await db.openSession({ silenceSeconds });
    // At once: whoever was frozen must not go on with lanes that another has by now.
    session.lost.addEventListener('abort', () => lanes.clear(), { once: true });
    keeper = randomInt(1, 2 ** 48 - 1);
    try {
      session.onNotification(options.onDue);
      await listenForDue(session);
      await announceDrainer(session);
      const until = AbortSignal.any([stopping.signal, session.lost]);
      while (!until.aborted) {
        await balance(session);
        await pause(balanceMillis, until);
      }
      if (!stopping.signal.aborted) throw new Error('the database ended the session');
    } finally {
      await session.close();
      lanes.clear();
    }
  }

  async function balance(session: Session): Promise<void> {
    const { drainers, held } = await surveyLanes(session);
    const share = Math.ceil(laneCount / Math.max(1, drainers));
    if (lanes.size > share) {
      const given = [...lanes].slice(share);
      for (const lane of given) lanes.delete(lane);
      await unlockLanes(session, given);
    } else if (lanes.size < share) {
      const free = freeLanes(held).slice(0, share - lanes.size);
      const gained =
        free.length === 0 ? [] : await lockLanes(session, free, { keeper, silenceSeconds });
      for (const lane of gained) lanes.add(lane);
      if (gained.length > 0) options.onGain();
    }
  }

  return {
    lanes,
    keeper: () => keeper,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

function freeLanes(held: readonly number[]): number[] {
  const taken = new Set(held);
  return Array.from({ length: laneCount }, (_, lane) => lane).filter((lane) => !taken.has(lane));
}

async function pause(millis: number, signal: AbortSignal): Promise<void> {
  await setTimeout(millis, undefined, { signal, ref: false }).catch(() => {});
}
