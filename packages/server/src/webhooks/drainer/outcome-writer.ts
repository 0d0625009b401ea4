import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../platform/log.ts';
import type { Database, Queryable, Session } from '../../platform/postgres/database.ts';
import { rest } from '../../platform/work/repeat.ts';
import { type CountDelta, cancelBacklogJobs, shiftCounts } from '../dead-letters/queries.ts';
import { passOn } from '../order/pass-on.ts';
import type { OrderKey } from '../order/queries.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';
import type { BreakerChange } from './endpoint.ts';
import * as queries from './outcome-queries.ts';

/** An attempt that has ended and whose outcome is to be written. */
export type Ended = {
  readonly endpointId: string;
  /** The version of the endpoint when the attempt began. */
  readonly configVersion: number;
  readonly tenant: string;
  /** What it goes in order with; null: nothing. */
  readonly orderKey: string | null;
  /**
   * The delivery's state when it was claimed. It is still the same, because only the holder of the lease changes it.
   */
  readonly before: { status: DeliveryStatus; failureClass: FailureClass | null };
  readonly row: queries.OutcomeRow;
  /** When the attempt began, in monotonic milliseconds. */
  readonly startedAt: number;
  readonly breaker: BreakerChange | null;
  /** held_back: its receiver only takes no more for now; expired: it came too late. Neither is an attempt. */
  readonly kind: 'attempted' | 'held_back' | 'expired';
};

const batchSize = 500;
/**
 * So many outcomes are written at once; fewer wait for others, because a transaction costs more than its rows. Whatever
 * ends in this time is sent again if the process is killed.
 */
const gatherRows = 64;
const gatherMillis = 20;
const retryMillis = 250;
/** A plan is kept for so long. One that was made when the tables were empty would read all of them later. */
const planMillis = 1000;

type Options = {
  log: Log;
  now: () => number;
  giveUpMillis: number;
  /** The drainer's number as keeper of its lanes; see `LaneHolder`. */
  keeper: () => number;
  /** Is called when outcomes were written, or were given up. */
  onWritten: (ended: readonly Ended[]) => void;
};

/**
 * Writes outcomes in batches, each of what has ended since the last one. What cannot be written is tried again until
 * `giveUpMillis` after the attempt began: by then the lease has run out, and another attempt decides.
 */
export class OutcomeWriter {
  readonly #waiting: Ended[] = [];
  #running: Promise<void> | undefined;
  #endGathering = () => {};
  #isDraining = false;
  #session: Session | undefined;
  #plannedAt = Number.NEGATIVE_INFINITY;
  readonly #db: Database;
  readonly #options: Options;

  constructor(db: Database, options: Options) {
    this.#db = db;
    this.#options = options;
  }

  get backlog(): number {
    return this.#waiting.length;
  }

  add(ended: Ended): void {
    this.#waiting.push(ended);
    this.#running ??= this.#run();
    // Another delivery may wait for this one.
    if (this.#waiting.length >= gatherRows || ended.orderKey !== null) this.#endGathering();
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#endGathering();
    while (this.#running !== undefined) await this.#running;
    await this.#session?.close();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      const batch = this.#waiting.slice(0, batchSize);
      const isWritten = await this.#write(batch);
      if (isWritten) {
        this.#waiting.splice(0, batch.length);
        this.#options.onWritten(batch);
      } else {
        this.#giveUpLate();
        if (this.#waiting.length > 0) await delay(retryMillis);
      }
    }
    this.#running = undefined;
  }

  async #gather(): Promise<void> {
    if (this.#isDraining || this.#waiting.length >= gatherRows) return;
    const gathering = new AbortController();
    this.#endGathering = () => gathering.abort();
    await rest(gatherMillis, gathering.signal);
    // Every outcome that comes while this batch is written would call it, and make an error with a stack each time.
    this.#endGathering = () => {};
  }

  /** Writes one batch. Returns false when that failed; the batch is then tried again. */
  async #write(batch: readonly Ended[]): Promise<boolean> {
    const { log, now, keeper } = this.#options;
    const terms = { nowMillis: now(), keeper: keeper() };
    try {
      // A plain success changes only its own row and log, so it needs no transaction around several statements.
      if (batch.some(changesMore)) {
        await this.#db.transaction((connection) => writeOutcomes(connection, batch, terms));
      } else {
        await queries.recordOutcomes(await this.#openSession(), rowsAt(batch, terms.nowMillis));
      }
      return true;
    } catch (error) {
      log.warn({ err: error, count: batch.length }, 'outcomes of deliveries could not be written');
      return false;
    }
  }

  /**
   * The session for plain successes, where their statement is not planned for each batch, which took half of its time.
   */
  async #openSession(): Promise<Session> {
    if (this.#session === undefined || this.#session.lost.aborted) {
      this.#session = await this.#db.openSession();
      this.#plannedAt = Number.NEGATIVE_INFINITY;
    }
    const now = this.#options.now();
    if (now - this.#plannedAt > planMillis) {
      await queries.planOnce(this.#session);
      this.#plannedAt = now;
    }
    return this.#session;
  }

  /** Drops the outcomes whose lease must have run out by now. */
  #giveUpLate(): void {
    const { log, now, giveUpMillis, onWritten } = this.#options;
    const late = this.#waiting.filter(({ startedAt }) => now() - startedAt > giveUpMillis);
    if (late.length === 0) return;
    // The database has been away for longer than a lease, which is no mistake of ours.
    log.warn({ count: late.length }, 'outcomes are lost; their deliveries are attempted again');
    const kept = this.#waiting.filter((ended) => !late.includes(ended));
    this.#waiting.splice(0, this.#waiting.length, ...kept);
    onWritten(late);
  }
}

/** Whether an outcome changes more than its delivery and the log: counts, a breaker, or what goes next. */
function changesMore({ before, row, breaker, orderKey }: Ended): boolean {
  const isPlain = row.status === 'delivered' && before.status === 'queued' && orderKey === null;
  return breaker !== null || !isPlain;
}

/** The database takes the time of an attempt as "so long ago", so that the clocks of both machines need not agree. */
function rowsAt(batch: readonly Ended[], nowMillis: number): queries.OutcomeRow[] {
  return batch.map(({ row, startedAt }) => ({ ...row, agoMillis: nowMillis - startedAt }));
}

/** Writes outcomes, those of one lane under its keeper. Must be called in a transaction. */
export async function writeOutcomes(
  db: Queryable,
  batch: readonly Ended[],
  { nowMillis, keeper }: { nowMillis: number; keeper: number },
): Promise<void> {
  const rowsOf = (kind: Ended['kind']) =>
    rowsAt(
      batch.filter((end) => end.kind === kind),
      nowMillis,
    );
  // Endpoints, then deliveries, then what they are in order with, then counts: everyone locks in this order, so that no
  // two transactions deadlock.
  await queries.storeBreakers(db, keeper, lastChanges(batch));
  await cancelBacklogJobs(db, await queries.disableGone(db, attemptsGone(batch)));
  await queries.holdBack(db, rowsOf('held_back'));
  const changed = new Map([
    ...(await queries.recordOutcomes(db, rowsOf('attempted'))),
    ...(await queries.abandonExpired(db, rowsOf('expired'))),
  ]);
  // Only the deliveries that were really changed may change the counts: the others had lost their lease.
  const mine = batch.filter(({ row }) => changed.get(row.id) === row.lease);
  await passOn(db, mine.flatMap(keyOf));
  await shiftCounts(db, mine.flatMap(countDeltas));
}

/** The key of a delivery that is not tried again: then the next may go. */
function keyOf({ endpointId, orderKey: key, row }: Ended): OrderKey[] {
  return key === null || row.delaySeconds !== null ? [] : [{ endpointId, key }];
}

function lastChanges(batch: readonly Ended[]): BreakerChange[] {
  const changes = new Map<string, BreakerChange>();
  for (const { breaker } of batch) {
    if (breaker !== null) changes.set(breaker.endpointId, merge(changes, breaker));
  }
  return [...changes.values()];
}

function attemptsGone(batch: readonly Ended[]): queries.GoneAttempt[] {
  return batch
    .filter(({ row }) => row.failureClass === 'gone')
    .map(({ row, endpointId, configVersion }) => ({ ...row, endpointId, configVersion }));
}

/** Joins two changes of one breaker: the later one counts, but a pause stays unless that closes the breaker. */
function merge(known: ReadonlyMap<string, BreakerChange>, change: BreakerChange): BreakerChange {
  const before = known.get(change.endpointId);
  const pauseSeconds = change.isClosed
    ? null
    : (change.pauseSeconds ?? before?.pauseSeconds ?? null);
  const isClosed = change.isClosed || (pauseSeconds === null && (before?.isClosed ?? false));
  const throttleSeconds = change.throttleSeconds ?? before?.throttleSeconds ?? null;
  return { ...change, pauseSeconds, isClosed, throttleSeconds };
}

/** How an outcome changes the counts of dead letters: the old state goes down by one, the new one up. */
function countDeltas({ endpointId, tenant, before, row }: Ended): CountDelta[] {
  const deltas: CountDelta[] = [];
  const add = (status: DeliveryStatus, failureClass: FailureClass | null, delta: 1 | -1) => {
    if ((status === 'pending' || status === 'abandoned') && failureClass !== null) {
      deltas.push({ endpointId, tenant, status, failureClass, delta });
    }
  };
  add(before.status, before.failureClass, -1);
  add(row.status, row.failureClass, 1);
  return deltas;
}
