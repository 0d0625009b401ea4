import type { Queryable } from '../platform/postgres/database.ts';
import type { HeadStart } from './claim.ts';
import { notifyDue } from './queries.ts';

/** What is due at an endpoint: new deliveries, or any that it has. */
export type Due = 'fresh' | 'any';

/** Tells the drainers of all processes that endpoints have deliveries due. A wake-up may be lost. */
export type WakeUp = { wake(endpointIds: readonly string[], due?: Due): void };

/** How a notification names an endpoint of which any delivery may be due. */
const anyMark = '!';

export function readWakeUp(payload: string): Record<Due, string[]> {
  const names = payload.split(' ');
  return {
    fresh: names.filter((name) => !name.endsWith(anyMark)),
    any: names.filter((name) => name.endsWith(anyMark)).map((name) => name.slice(0, -1)),
  };
}

/** The wake-up as those who report incidents need it. */
export type ReportWakeUp = WakeUp & {
  /** Keeps room for so many new deliveries at each endpoint of these tenants. Null: all of them are to be claimed. */
  headStart(reports: ReadonlyMap<string, number>): HeadStart | null;
};

type OwnDrainer = Pick<ReportWakeUp, 'headStart'> & {
  /** Returns the endpoints that are not in its lanes. */
  wake(endpointIds: readonly string[], due: Due): readonly string[];
};

export type AttachableWakeUp = ReportWakeUp & {
  /** Registers the drainer of this process. It is told directly, without a notification. */
  attach(drainer: OwnDrainer): void;
};

const quietMillis = 2;
/** A notification holds up to 8,000 bytes. When more endpoints than this are due at once, it says `*`: look at all. */
const maxNamed = 200;

/**
 * Creates the wake-up of this process. It notifies outside the transaction that made the rows, and at most once per 2
 * ms: a NOTIFY inside takes a lock that all commits wait for, which cut them from 15,000/s to 5,000/s. A lost
 * notification delays deliveries by a second at most, because the drainers also look by themselves.
 */
export function createWakeUp(db: Queryable, onError: (error: unknown) => void): AttachableWakeUp {
  const waiting = new Set<string>();
  let own: OwnDrainer | undefined;
  let timer: NodeJS.Timeout | undefined;
  const send = () => {
    timer = undefined;
    if (waiting.size === 0) return;
    const names = waiting.size > maxNamed ? '*' : [...waiting].join(' ');
    waiting.clear();
    notifyDue(db, names).catch(onError);
    timer = setTimeout(send, quietMillis);
    timer.unref();
  };
  return {
    wake(endpointIds, due = 'any') {
      const others = own?.wake(endpointIds, due) ?? endpointIds;
      for (const id of others) waiting.add(due === 'any' ? id + anyMark : id);
      if (timer === undefined) send();
    },
    headStart: (reports) => own?.headStart(reports) ?? null,
    attach(drainer) {
      own = drainer;
    },
  };
}
