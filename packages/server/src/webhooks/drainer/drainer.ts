import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { discardOfEndpoint } from '../dead-letters/discard.ts';
import type { AttemptResult, Sender } from '../delivery/sender.ts';
import { laneOf } from '../lanes.ts';
import type { SecretBox } from '../secret.ts';
import { deliverOnce, endOf } from './deliver.ts';
import { type EndpointConfig, EndpointConfigs } from './endpoint-configs.ts';
import { holdLanes, type LaneHolder } from './lane-holder.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import { restAfter, scanMillis } from './pace.ts';
import {
  type ClaimedRow,
  claimDeliveries,
  claimRows,
  type DueEndpoint,
  findWaitingAmong,
  findWaitingEndpoints,
  isAnythingDue,
  releaseDeliveries,
} from './queries.ts';
import { type Claim, limitsFor, Scheduler } from './scheduler.ts';

export type DrainerOptions = {
  readonly sender: Sender;
  readonly secretBox: () => SecretBox;
  /** One attempt, at most. */
  readonly timeoutSeconds: number;
  /** Attempts under way at once, at most; a tenant has a quarter of them. */
  readonly maxInFlight: number;
  /** Seconds since 1970, for the signatures. */
  readonly wallSeconds: () => number;
  readonly log: Log;
  readonly onAttempt?: (result: AttemptResult) => void;
};

/** Outcomes that wait to be written while the database is slow; more are not made. */
const maxBacklog = 2000;
/** How often an endpoint that waits for its rate is looked at. */
const rateMillis = 20;
/** While as many are under way, a claim for fewer waits a little for more: statements cost more than rows. */
const gatherRows = 64;
const gatherMillis = 3;
/** After a claim that the database refused. */
const pauseMillis = 500;
/** A lease outlives its attempt by this; what could not begin within half of it goes back. */
const leaseMarginSeconds = 15;
const discardSize = 1000;

type ClaimInfo = {
  readonly lease: number;
  readonly claimedAt: number;
  /** Its outcome decides whether the endpoint's pause is over. */
  readonly isProbe: boolean;
};

/**
 * Delivers what is due in the lanes that this process holds: claims rows per endpoint, sends them side
 * by side, writes their outcomes in batches. All its times are monotonic or the database's: a clock that
 * jumps moves nothing.
 */
export class Drainer {
  private readonly db: Database;
  private readonly options: DrainerOptions;
  private readonly scheduler: Scheduler;
  private readonly configs: EndpointConfigs;
  private readonly writer: OutcomeWriter;
  private readonly holder: LaneHolder;
  private readonly leaseSeconds: number;
  /** Until their outcome is on its way, or their row has gone back. */
  private readonly attempts = new Set<Promise<void>>();
  /** Endpoints that were called out and are not known here. */
  private readonly unknown = new Set<string>();
  private mustScan = false;
  private isStopping = false;
  private claiming: Promise<void> | undefined;
  private looking: Promise<void> | undefined;
  private discarding: Promise<void> | undefined;
  private scanTimer: NodeJS.Timeout | undefined;
  private scanAt = Number.POSITIVE_INFINITY;
  private restUntil = 0;
  private rateTimer: NodeJS.Timeout | undefined;
  private gatherTimer: NodeJS.Timeout | undefined;
  private pumping: NodeJS.Immediate | undefined;

  constructor(db: Database, options: DrainerOptions) {
    const { log, timeoutSeconds } = options;
    this.db = db;
    this.options = options;
    this.leaseSeconds = timeoutSeconds + leaseMarginSeconds;
    this.scheduler = new Scheduler(limitsFor(options.maxInFlight), monotonicMillis);
    this.configs = new EndpointConfigs(db, options.secretBox, monotonicMillis);
    this.writer = new OutcomeWriter(db, {
      log,
      now: monotonicMillis,
      giveUpMillis: this.leaseSeconds * 1000,
      keeper: () => this.holder.keeper(),
      onWritten: (batch) => {
        for (const { endpointId } of batch) this.scheduler.written(endpointId);
        this.pump();
      },
    });
    this.holder = holdLanes(db, {
      log,
      leaseSeconds: this.leaseSeconds,
      onGain: () => this.scan(),
      onDue: (payload) => {
        // Every drainer hears of all endpoints.
        if (payload === '*') this.scan();
        else this.wake(payload.split(' '));
      },
    });
    this.scheduleScan(scanMillis);
  }

  /** Resolves when nothing is due any more that is not paused; rows due later don't hold it. */
  async untilIdle(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.scan();
      await this.looking;
      const isBusy =
        this.scheduler.inFlight > 0 || this.writer.backlog > 0 || this.claiming !== undefined;
      if (!isBusy && !(await isAnythingDue(this.db))) return;
      await delay(100, undefined, { signal }).catch(() => {});
    }
  }

  /** Claims no more, gives the lanes back, lets attempts end and writes their outcomes. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.scanTimer);
    clearTimeout(this.rateTimer);
    clearTimeout(this.gatherTimer);
    await this.looking;
    await this.claiming;
    // Others go on with the lanes at once; what is under way here is leased.
    await Promise.all([this.holder.stop(), this.discarding, ...this.attempts]);
    await this.writer.drain();
    await this.options.sender.close();
  }

  /**
   * Ends the attempts that `stop` waits for. One that was not answered is not counted, as the receiver may do
   * nothing for it: its row goes back, and is sent again under the same webhook-id.
   */
  cut(): void {
    this.options.sender.cut();
  }

  /** These endpoints have deliveries due. Answers those that are not in the lanes of this drainer. */
  wake(endpointIds: readonly string[]): string[] {
    const others: string[] = [];
    for (const id of endpointIds) {
      if (this.isStopping || !this.holder.lanes.has(laneOf(id))) others.push(id);
      else if (!this.scheduler.wake(id)) this.unknown.add(id);
    }
    if (this.unknown.size > 0) this.look();
    this.pump();
    return others;
  }

  private scan(): void {
    if (monotonicMillis() < this.restUntil) {
      this.scheduleScan(0);
      return;
    }
    this.mustScan = true;
    this.look();
  }

  /** Unless one is to come sooner. */
  private scheduleScan(millis: number): void {
    const now = monotonicMillis();
    const at = Math.max(now + millis, this.restUntil);
    if (this.isStopping || at >= this.scanAt) return;
    clearTimeout(this.scanTimer);
    this.scanAt = at;
    this.scanTimer = setTimeout(
      () => {
        this.scanAt = Number.POSITIVE_INFINITY;
        this.scan();
      },
      Math.ceil(at - now),
    );
  }

  /** Learns what is due: one look at a time, for all that were asked for meanwhile. */
  private look(): void {
    if (this.isStopping) return;
    this.looking ??= this.lookOnce().finally(() => {
      this.looking = undefined;
      if (this.mustScan) {
        this.mustScan = false;
        this.scan();
      }
      if (this.unknown.size > 0) this.look();
      this.pump();
    });
  }

  private async lookOnce(): Promise<void> {
    const isScan = this.mustScan;
    const names = [...this.unknown];
    this.mustScan = false;
    this.unknown.clear();
    const { lanes } = this.holder;
    this.scheduler.forget((lane) => lanes.has(lane));
    let soonest = scanMillis;
    const askedAt = monotonicMillis();
    try {
      const found = isScan
        ? await findWaitingEndpoints(this.db, [...lanes])
        : await findWaitingAmong(this.db, names, [...lanes]);
      for (const endpoint of found) {
        if (endpoint.due_ms > 0) soonest = Math.min(soonest, endpoint.due_ms);
        else if (!endpoint.is_deleted) this.take(endpoint, askedAt);
      }
      this.discard(found.filter((endpoint) => endpoint.is_deleted));
    } catch (error) {
      this.options.log.warn({ err: error }, 'the drainer could not look for what is due');
    }
    const now = monotonicMillis();
    if (isScan) this.restUntil = now + restAfter(now - askedAt);
    this.scheduleScan(soonest);
  }

  private take(endpoint: DueEndpoint, askedAt: number): void {
    if (endpoint.enabled && this.holder.lanes.has(endpoint.lane)) {
      this.scheduler.learn(factsOf(endpoint), askedAt);
    }
  }

  /** Beside all else: it may have to wait for locks. What it leaves is found again. */
  private discard(deleted: readonly DueEndpoint[]): void {
    if (deleted.length === 0) return;
    this.discarding ??= this.discardAll(deleted).finally(() => {
      this.discarding = undefined;
    });
  }

  private async discardAll(deleted: readonly DueEndpoint[]): Promise<void> {
    try {
      for (const { id } of deleted) {
        if (this.isStopping) return;
        await discardOfEndpoint(this.db, id, discardSize);
      }
    } catch (error) {
      this.options.log.warn({ err: error }, 'rows of a deleted endpoint could not be discarded');
    }
  }

  /** Claims as long as there is something to claim; one claim at a time, for all that asked meanwhile. */
  private pump(): void {
    if (this.isStopping || this.claiming !== undefined) return;
    this.pumping ??= setImmediate(() => {
      this.pumping = undefined;
      this.claimNext();
    });
  }

  private claimNext(isGathered = false): void {
    if (this.isStopping || this.claiming !== undefined || this.writer.backlog > maxBacklog) return;
    const plan = this.scheduler.plan(claimRows);
    if (plan.length === 0) {
      this.waitForRate();
      return;
    }
    const rows = plan.reduce((sum, claim) => sum + claim.count, 0);
    if (!isGathered && rows < gatherRows && this.scheduler.inFlight >= gatherRows) {
      this.gatherTimer ??= setTimeout(() => this.claimNext(true), gatherMillis);
      return;
    }
    clearTimeout(this.gatherTimer);
    this.gatherTimer = undefined;
    const [paused, others] = [plan.filter(isPaused), plan.filter((claim) => !isPaused(claim))];
    this.claiming = Promise.all([this.claim(paused), this.claim(others)]).then(() => {
      this.claiming = undefined;
      this.pump();
    });
  }

  private waitForRate(): void {
    if (this.rateTimer !== undefined || !this.scheduler.isRateBound()) return;
    this.rateTimer = setTimeout(() => {
      this.rateTimer = undefined;
      this.pump();
    }, rateMillis);
  }

  private async claim(plan: readonly Claim[]): Promise<void> {
    if (plan.length === 0) return;
    const reserved = plan.map((claim) => ({ claim, ...this.scheduler.reserve(claim) }));
    const claimedAt = monotonicMillis();
    const lease = randomInt(2 ** 48 - 1);
    const terms = {
      id: lease,
      seconds: this.leaseSeconds,
      keeper: this.holder.keeper(),
      onlyProbes: plan.some(isPaused),
    };
    let rows: ClaimedRow[] = [];
    try {
      rows = await claimDeliveries(this.db, plan, terms);
      await this.configs.load(rows);
    } catch (error) {
      this.options.log.warn({ err: error }, 'the drainer could not claim what is due');
      for (const { claim } of reserved) this.scheduler.settle(claim, 0, -1);
      await Promise.all([this.giveBack(rows, lease), delay(pauseMillis)]);
      return;
    }
    const counts = new Map<string, number>();
    for (const { endpoint_id: id } of rows) counts.set(id, (counts.get(id) ?? 0) + 1);
    const probes = new Set<string>();
    for (const { claim, wakes, isProbe } of reserved) {
      this.scheduler.settle(claim, counts.get(claim.endpointId) ?? 0, wakes);
      if (isProbe) probes.add(claim.endpointId);
    }
    for (const row of rows) {
      this.start(row, { lease, claimedAt, isProbe: probes.has(row.endpoint_id) });
    }
  }

  private start(row: ClaimedRow, claimed: ClaimInfo): void {
    const config = this.configs.get(row.endpoint_id);
    const isLate = monotonicMillis() - claimed.claimedAt > (leaseMarginSeconds * 1000) / 2;
    const isAttempted = config !== undefined && !isLate && !this.isStopping;
    if (!isAttempted) this.scheduler.release(row.endpoint_id);
    const work = isAttempted
      ? this.deliver(row, config, claimed)
      : this.giveBack([row], claimed.lease);
    const running = work.then(() => {
      this.attempts.delete(running);
      this.pump();
    });
    this.attempts.add(running);
  }

  private async deliver(
    row: ClaimedRow,
    config: EndpointConfig,
    claimed: ClaimInfo,
  ): Promise<void> {
    const { sender, wallSeconds, onAttempt } = this.options;
    const startedAt = monotonicMillis();
    let isSent = false;
    const onSent = () => {
      this.scheduler.sent(row.endpoint_id, isSent);
      isSent = true;
    };
    const time = { nowMillis: startedAt, wallSeconds: wallSeconds(), onSent };
    const result = await deliverOnce(sender, row, config, time);
    if (!isSent) onSent();
    if (result.isCut) return this.giveBack([row], claimed.lease);
    onAttempt?.(result);
    const isFailure = result.failureClass !== null;
    const { lease, isProbe } = claimed;
    const breaker = this.scheduler.finish(row.endpoint_id, { isFailure, isProbe });
    const end = endOf(row, config, { result, lease, startedAt, random: Math.random() });
    this.writer.add({ ...end, breaker });
  }

  /** Should this fail, their lease runs out. */
  private async giveBack(rows: readonly ClaimedRow[], lease: number): Promise<void> {
    if (rows.length > 0) await releaseDeliveries(this.db, rows, lease).catch(() => {});
  }
}

function monotonicMillis(): number {
  return performance.now();
}

function isPaused(claim: Claim): boolean {
  return claim.onlyProbes;
}

function factsOf(endpoint: DueEndpoint) {
  return {
    id: endpoint.id,
    lane: endpoint.lane,
    tenant: endpoint.tenant,
    breaker: { failuresInRow: endpoint.failures_in_row, pausesInRow: endpoint.pauses_in_row },
    pausedMillis: endpoint.paused_ms,
    ratePerSecond: endpoint.rate_limit,
    hasProbe: endpoint.has_probe,
  };
}
