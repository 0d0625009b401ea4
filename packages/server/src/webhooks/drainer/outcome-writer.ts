import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../platform/log.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { type CountDelta, cancelBacklogJobs, shiftCounts } from '../dead-letters/discard.ts';
import type { DeliveryStatus, FailureClass } from '../values.ts';
import {
  disableGone,
  type GoneAttempt,
  type OutcomeRow,
  recordOutcomes,
  storeBreakers,
} from './queries.ts';
import type { BreakerChange } from './scheduler.ts';

/** An attempt that has ended, on its way to the database. */
export type Ended = {
  readonly endpointId: string;
  /** Of the endpoint as it was when the attempt began. */
  readonly configVersion: number;
  readonly tenant: string;
  /** What the delivery was when it was claimed; nothing but its lease's holder changes it meanwhile. */
  readonly before: { status: DeliveryStatus; failureClass: FailureClass | null };
  readonly row: OutcomeRow;
  /** Monotonic time at which the attempt began. */
  readonly startedAt: number;
  readonly breaker: BreakerChange | null;
};

const batchSize = 500;
const retryMillis = 250;

/**
 * Writes outcomes in batches: one batch at a time, of whatever has ended since the last, so that the
 * busier the drainer the larger the batch. What cannot be written is tried again until `giveUpMillis`
 * after its attempt: by then its lease has run out, and another attempt decides.
 */
export class OutcomeWriter {
  private readonly waiting: Ended[] = [];
  private running: Promise<void> | undefined;
  private readonly db: Database;
  private readonly options: {
    log: Log;
    now: () => number;
    giveUpMillis: number;
    /** See `LaneHolder`. */
    keeper: () => number;
    onWritten: (ended: readonly Ended[]) => void;
  };

  constructor(db: Database, options: OutcomeWriter['options']) {
    this.db = db;
    this.options = options;
  }

  /** Attempts that have ended and are not written. */
  get backlog(): number {
    return this.waiting.length;
  }

  add(ended: Ended): void {
    this.waiting.push(ended);
    this.running ??= this.run();
  }

  /** Resolves when all is written or given up. */
  async drain(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  private async run(): Promise<void> {
    // What ends in the same turn goes in the same batch.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, batchSize);
      const isWritten = await this.write(batch);
      if (isWritten) {
        this.waiting.splice(0, batch.length);
        this.options.onWritten(batch);
      } else {
        this.giveUpLate();
        if (this.waiting.length > 0) await setTimeout(retryMillis);
      }
    }
    this.running = undefined;
  }

  private async write(batch: readonly Ended[]): Promise<boolean> {
    const { log, now } = this.options;
    const rows = batch.map(({ row, startedAt }) => ({ ...row, agoMillis: now() - startedAt }));
    try {
      if (batch.some(changesMore)) {
        await this.db.transaction((connection) =>
          writeAll(connection, { batch, rows, keeper: this.options.keeper() }),
        );
      } else {
        await recordOutcomes(this.db, rows);
      }
      return true;
    } catch (error) {
      log.warn({ err: error, count: batch.length }, 'outcomes of deliveries could not be written');
      return false;
    }
  }

  private giveUpLate(): void {
    const { log, now, giveUpMillis, onWritten } = this.options;
    const late = this.waiting.filter(({ startedAt }) => now() - startedAt > giveUpMillis);
    if (late.length === 0) return;
    log.error({ count: late.length }, 'outcomes are lost; their deliveries are attempted again');
    const kept = this.waiting.filter((ended) => !late.includes(ended));
    this.waiting.splice(0, this.waiting.length, ...kept);
    onWritten(late);
  }
}

/** Whether an outcome changes more than its delivery and its log: the counts, a breaker. */
function changesMore({ before, row, breaker }: Ended): boolean {
  return breaker !== null || row.status !== 'delivered' || before.status !== 'queued';
}

async function writeAll(
  db: Queryable,
  { batch, rows, keeper }: { batch: readonly Ended[]; rows: readonly OutcomeRow[]; keeper: number },
): Promise<void> {
  // Endpoints, deliveries, counts: the order in which everyone locks them.
  await storeBreakers(db, keeper, lastChanges(batch));
  await cancelBacklogJobs(db, await disableGone(db, attemptsGone(batch)));
  const changed = await recordOutcomes(db, rows);
  const mine = batch.filter(({ row }) => changed.has(row.id));
  await shiftCounts(db, mine.flatMap(countDeltas));
}

function lastChanges(batch: readonly Ended[]): BreakerChange[] {
  const changes = new Map<string, BreakerChange>();
  for (const { breaker } of batch) {
    if (breaker !== null) changes.set(breaker.endpointId, merge(changes, breaker));
  }
  return [...changes.values()];
}

function attemptsGone(batch: readonly Ended[]): GoneAttempt[] {
  return batch
    .filter(({ row }) => row.failureClass === 'gone')
    .map(({ row: { lane, id, lease }, endpointId, configVersion }) => ({
      lane,
      id,
      lease,
      endpointId,
      configVersion,
    }));
}

/** The last change counts, but a pause that began in the same batch is not forgotten. */
function merge(known: ReadonlyMap<string, BreakerChange>, change: BreakerChange): BreakerChange {
  const before = known.get(change.endpointId);
  const pauseSeconds = change.isClosed
    ? null
    : (change.pauseSeconds ?? before?.pauseSeconds ?? null);
  const isClosed = change.isClosed || (pauseSeconds === null && (before?.isClosed ?? false));
  return { ...change, pauseSeconds, isClosed };
}

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
