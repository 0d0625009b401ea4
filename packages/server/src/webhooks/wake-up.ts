import type { Queryable } from '../platform/postgres/database.ts';
import { notifyDue } from './queries.ts';

/** Tells drainers, in every process, that these endpoints have deliveries due. */
export type WakeUp = {
  wake(endpointIds: readonly string[]): void;
};

type AttachableWakeUp = WakeUp & {
  /**
   * Names the drainer of this process: it is told at once, without a notification, and answers which
   * endpoints are not in its lanes.
   */
  attach(drainer: (endpointIds: readonly string[]) => readonly string[]): void;
};

const quietMillis = 10;
/** A notification holds 8,000 bytes. More endpoints than this at once: look at all. */
const maxNamed = 200;

/**
 * Notifies outside of the transaction that made the rows, at most once per 10 ms: NOTIFY inside it
 * takes a lock over all commits and cut them from 15,000/s to 5,000/s. A notification that is lost
 * costs a second: drainers look by themselves.
 */
export function createWakeUp(db: Queryable, onError: (error: unknown) => void): AttachableWakeUp {
  const waiting = new Set<string>();
  let tellOwn = (endpointIds: readonly string[]) => endpointIds;
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
    wake(endpointIds) {
      for (const id of tellOwn(endpointIds)) waiting.add(id);
      if (timer === undefined) send();
    },
    attach(drainer) {
      tellOwn = drainer;
    },
  };
}
