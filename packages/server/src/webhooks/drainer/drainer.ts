import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { Repeated } from '../../platform/work/repeat.ts';
import type { ClaimedRow, HeadStart, Lease } from '../claim.ts';
import type { Sender } from '../delivery/sender.ts';
import { laneOf } from '../lanes.ts';
import { passOnAll, startPassingOn } from '../order/pass-on.ts';
import type { SecretBox } from '../secret.ts';
import { type Due, readWakeUp } from '../wake-up.ts';
import {
  deliverOnce,
  type EndpointConfig,
  EndpointConfigs,
  endOf,
  expiredEnd,
  hasExpired,
  isThrottled,
  type WatchAttempt,
} from './deliver.ts';
import { type DueSearch, startDueSearch } from './due-search.ts';
import type { AttemptRole } from './endpoint.ts';
import { holdLanes, type LaneHolder } from './lane-holder.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import { claimDeliveries, claimRows, isAnythingDue, releaseDeliveries } from './queries.ts';
import { type Claim, limitsFor, Scheduler } from './scheduler.ts';

type DrainerOptions = {
  readonly sender: Sender;
  readonly secretBox: () => SecretBox;
  readonly timeoutSeconds: number;
  /** How many attempts may be under way at once. One tenant may have a quarter of them. */
  readonly maxInFlight: number;
  /** How often it looks whether its part of the lanes is right. */
  readonly balanceMillis: number;
  readonly log: Log;
  readonly watch: WatchAttempt;
};

/** When more outcomes than this wait to be written, because the database is slow, nothing more is claimed. */
const maxBacklog = 2000;
/** How often the drainer checks whether an endpoint that has reached its rate limit may send again. */
const rateMillis = 20;
/**
 * While so many are under way, a smaller claim waits for more rows to join it: a statement costs more than its rows.
 */
const gatherRows = 64;
const gatherMillis = 3;
const pauseMillis = 500;
/** How much longer a lease lasts than its attempt may; a row whose attempt begins after half of this is given back. */
const leaseMarginSeconds = 15;
/** A claim that the scheduler has booked as in flight. */
type Reserved = { claim: Claim; wakes: number; role: AttemptRole };

type ClaimInfo = { readonly lease: number; readonly claimedAt: number; readonly role: AttemptRole };

/**
 * Delivers what is due in the lanes that this process holds: it claims rows endpoint by endpoint, sends them side by
 * side and writes their outcomes in batches. All times are monotonic or the database's own.
 */
export class Drainer {
  readonly #db: Database;
  readonly #options: DrainerOptions;
  readonly #scheduler: Scheduler;
  readonly #search: DueSearch;
  readonly #configs: EndpointConfigs;
  readonly #writer: OutcomeWriter;
  readonly #holder: LaneHolder;
  /** Lets go what waited behind a delivery that has ended without this process. */
  readonly #passing: Repeated;
  readonly #leaseSeconds: number;
  /** The claimed rows that are worked on, and the head starts that have not begun. */
  readonly #attempts = new Set<Promise<void>>();
  /** Other drainers find by their own scans what is due in their lanes. */
  readonly #ownWakeUp = { wake: (ids: readonly string[]) => void this.wake(ids, 'any') };
  #isStopping = false;
  #claiming: Promise<void> | undefined;
  #rateTimer: NodeJS.Timeout | undefined;
  #gatherTimer: NodeJS.Timeout | undefined;
  #pumping: NodeJS.Immediate | undefined;

  constructor(db: Database, options: DrainerOptions) {
    const { log, timeoutSeconds } = options;
    this.#db = db;
    this.#options = options;
    this.#leaseSeconds = timeoutSeconds + leaseMarginSeconds;
    const now = () => performance.now();
    this.#scheduler = new Scheduler(limitsFor(options.maxInFlight), now);
    this.#configs = new EndpointConfigs(db, options.secretBox);
    this.#writer = new OutcomeWriter(db, {
      log,
      now,
      giveUpMillis: this.#leaseSeconds * 1000,
      keeper: () => this.#holder.keeper,
      onWritten: (batch) => {
        for (const { endpointId, orderKey } of batch) {
          const endpoint = this.#scheduler.endpoint(endpointId);
          endpoint?.written();
          // The next of its key is due now.
          if (orderKey !== null) endpoint?.wake('any');
        }
        this.#pump();
      },
    });
    this.#holder = holdLanes(db, {
      log,
      leaseSeconds: this.#leaseSeconds,
      balanceMillis: options.balanceMillis,
      onGain: () => this.#search.scan(),
      onDue: (payload) => {
        // A notification goes to every drainer, so some of these endpoints are in other drainers' lanes.
        if (payload === '*') this.#search.scan();
        else {
          const { fresh, any } = readWakeUp(payload);
          this.wake(fresh, 'fresh');
          this.wake(any, 'any');
        }
      },
    });
    this.#search = startDueSearch(db, {
      lanes: () => this.#holder.lanes,
      scheduler: this.#scheduler,
      log,
      onLooked: () => this.#pump(),
    });
    this.#passing = startPassingOn(db, { wakeUp: this.#ownWakeUp, log });
  }

  /** Resolves when nothing is due but deliveries of paused endpoints, or early when `signal` is aborted. */
  async untilIdle(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await passOnAll(this.#db, this.#ownWakeUp);
      this.#search.scan();
      const isBusy =
        this.#scheduler.inFlight > 0 || this.#writer.backlog > 0 || this.#claiming !== undefined;
      if (!isBusy && !(await isAnythingDue(this.#db))) return;
      await delay(100, undefined, { signal }).catch(() => {});
    }
  }

  /** Stops claiming, gives the lanes back, and waits until running attempts have ended and are written. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const searched = this.#search.stop();
    clearTimeout(this.#rateTimer);
    clearTimeout(this.#gatherTimer);
    await this.#claiming;
    // Others can go on with the lanes at once. Rows that are still under way here are leased, so nobody claims them.
    await Promise.all([this.#holder.stop(), searched, this.#passing.stop()]);
    while (this.#attempts.size > 0) await Promise.all(this.#attempts);
    await this.#writer.drain();
    await this.#options.sender.close();
  }

  /** Ends the attempts that `stop` waits for. One without an answer yet is no failure, and is sent again. */
  cut(): void {
    this.#options.sender.cut();
  }

  /** These endpoints have deliveries due. Returns those of other drainers' lanes, which are to be told of them. */
  wake(endpointIds: readonly string[], due: Due): string[] {
    const others: string[] = [];
    const unknown: string[] = [];
    for (const id of endpointIds) {
      if (this.#isStopping || !this.#holder.lanes.has(laneOf(id))) others.push(id);
      else if (!this.#scheduler.endpoint(id)?.wake(due)) unknown.push(id);
    }
    if (unknown.length > 0) this.#search.lookAt(unknown);
    this.#pump();
    return others;
  }

  /** Keeps room for what `reports` is about to store, by tenant and for each of its endpoints; null: there is none. */
  headStart(reports: ReadonlyMap<string, number>): HeadStart | null {
    if (this.#isStopping || this.#writer.backlog > maxBacklog) return null;
    const rooms = this.#scheduler.planNew(reports, (lane) => this.#holder.lanes.has(lane));
    if (rooms.length === 0) return null;
    const reserved = this.#reserve(rooms);
    const claimedAt = performance.now();
    const lease = this.#newLease();
    const begin = async (rows: readonly ClaimedRow[]) => {
      try {
        await this.#begin(rows, { reserved, lease: lease.id, claimedAt });
      } catch (error) {
        this.#options.log.warn({ err: error }, 'new deliveries could not be sent at once');
        this.#abandon(reserved);
        await this.#giveBack(rows, lease.id);
      }
    };
    // It counts as under way from now on, so that `stop` waits for it.
    let end = (_work: Promise<void>) => {};
    this.#track(
      new Promise<void>((resolve) => {
        end = resolve;
      }),
    );
    return { rooms, lease, begin: (rows) => end(begin(rows)) };
  }

  /** Claims rows as long as there are any. All attempts that end in one turn of the event loop lead to one claim. */
  #pump(): void {
    if (this.#isStopping || this.#claiming !== undefined) return;
    if (this.#pumping !== undefined) return;
    this.#pumping = setImmediate(() => {
      this.#pumping = undefined;
      this.#claimNext();
    });
  }

  #claimNext(isGathered = false): void {
    if (this.#isStopping || this.#claiming !== undefined || this.#writer.backlog > maxBacklog)
      return;
    const plan = this.#scheduler.plan(claimRows);
    if (plan.length === 0) {
      this.#waitForRate();
      return;
    }
    const rows = plan.reduce((sum, claim) => sum + claim.count, 0);
    if (!isGathered && rows < gatherRows && this.#scheduler.inFlight >= gatherRows) {
      this.#gatherTimer ??= setTimeout(() => this.#claimNext(true), gatherMillis);
      return;
    }
    clearTimeout(this.#gatherTimer);
    this.#gatherTimer = undefined;
    // Paused endpoints are claimed by a statement of their own, because only operators' retries may be taken there.
    const of = (onlyProbes: boolean) => plan.filter((claim) => claim.onlyProbes === onlyProbes);
    this.#claiming = Promise.all([this.#claim(of(true)), this.#claim(of(false))]).then(() => {
      this.#claiming = undefined;
      this.#pump();
    });
  }

  #waitForRate(): void {
    if (this.#rateTimer !== undefined || !this.#scheduler.isRateBound()) return;
    this.#rateTimer = setTimeout(() => {
      this.#rateTimer = undefined;
      this.#pump();
    }, rateMillis);
  }

  async #claim(plan: readonly Claim[]): Promise<void> {
    if (plan.length === 0) return;
    const reserved = this.#reserve(plan);
    const claimedAt = performance.now();
    const lease = this.#newLease();
    let rows: ClaimedRow[] = [];
    try {
      const terms = { ...lease, onlyProbes: plan.some((claim) => claim.onlyProbes) };
      rows = await claimDeliveries(this.#holder.session, plan, terms);
      await this.#begin(rows, { reserved, lease: lease.id, claimedAt });
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the drainer could not claim what is due');
      this.#abandon(reserved);
      await Promise.all([this.#giveBack(rows, lease.id), delay(pauseMillis)]);
    }
  }

  /** A plan is booked as in flight before the database is asked: the next plan must not hand out the same room. */
  #reserve(plan: readonly Claim[]): Reserved[] {
    return plan.map((claim) => ({ claim, ...this.#scheduler.reserve(claim) }));
  }

  /** Takes the reservations back. -1 is no count of wake-ups: what was marked as due stays so, and is claimed. */
  #abandon(reserved: readonly Reserved[]): void {
    for (const { claim } of reserved) this.#scheduler.settle(claim, 0, -1);
  }

  #newLease(): Lease {
    const id = randomInt(2 ** 48 - 1);
    return { id, seconds: this.#leaseSeconds, keeper: this.#holder.keeper };
  }

  /** Starts the attempts of rows that were claimed. It throws before it has settled or started any. */
  async #begin(
    rows: readonly ClaimedRow[],
    { reserved, lease, claimedAt }: { reserved: Reserved[]; lease: number; claimedAt: number },
  ): Promise<void> {
    await this.#configs.load(rows);
    const counts = new Map<string, number>();
    const keyOf = (id: string, isFresh: boolean) => `${id} ${isFresh}`;
    for (const { endpoint_id: id, is_fresh: isFresh } of rows) {
      const key = keyOf(id, isFresh);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const roles = new Map<string, AttemptRole>();
    for (const { claim, wakes, role } of reserved) {
      const found = counts.get(keyOf(claim.endpointId, claim.isFresh)) ?? 0;
      this.#scheduler.settle(claim, found, wakes);
      roles.set(claim.endpointId, role);
    }
    for (const row of rows) {
      this.#start(row, { lease, claimedAt, role: roles.get(row.endpoint_id) ?? 'usual' });
    }
  }

  /** Starts an attempt, or gives the row back: without settings, with too short a lease, or while stopping. */
  #start(row: ClaimedRow, claimed: ClaimInfo): void {
    const config = this.#configs.get(row.endpoint_id);
    const isLate = performance.now() - claimed.claimedAt > (leaseMarginSeconds * 1000) / 2;
    const isAttempted = config !== undefined && !isLate && !this.#isStopping;
    if (!isAttempted) this.#scheduler.end(row.endpoint_id, (endpoint) => endpoint.hold(-1));
    if (!isAttempted) this.#track(this.#giveBack([row], claimed.lease));
    else if (hasExpired(row, config)) this.#expire(row, config, claimed);
    else this.#track(this.#deliver(row, config, claimed));
  }

  #expire(row: ClaimedRow, config: EndpointConfig, { lease, claimedAt }: ClaimInfo): void {
    this.#scheduler.end(row.endpoint_id, (endpoint) => endpoint.expired());
    this.#writer.add(expiredEnd(row, config, { lease, startedAt: claimedAt }));
    this.#pump();
  }

  /** Makes `stop` wait for this work, which never rejects, and looks for more when it has ended. */
  #track(work: Promise<void>): void {
    const running = work.then(() => {
      this.#attempts.delete(running);
      this.#pump();
    });
    this.#attempts.add(running);
  }

  async #deliver(row: ClaimedRow, config: EndpointConfig, claimed: ClaimInfo): Promise<void> {
    const { sender, watch } = this.#options;
    const tell = watch(row, config.url);
    const startedAt = performance.now();
    let isSent = false;
    const onSent = () => {
      this.#scheduler.endpoint(row.endpoint_id)?.sent(isSent);
      isSent = true;
    };
    // Receivers refuse what was signed minutes ago: the clock of this process may be wrong.
    const time = { nowMillis: startedAt, wallSeconds: this.#holder.wallSeconds(), onSent };
    const result = await deliverOnce(sender, row, config, time);
    // The attempt may fail before anything was sent; the rate limit has to count it all the same.
    if (!isSent) onSent();
    tell(result);
    if (result.isCut) return this.#giveBack([row], claimed.lease);
    const { lease, role } = claimed;
    const { failureClass, retryAfterSeconds, isOverslept, durationMillis } = result;
    const isFailure = failureClass !== null;
    // What this process or its proxy is to blame for says nothing of the endpoint.
    const isOurs = isOverslept || failureClass === 'proxy';
    const breaker = this.#scheduler.end(row.endpoint_id, (endpoint) =>
      isThrottled(result, null)
        ? endpoint.throttled({ sentAt: startedAt, retryAfterSeconds })
        : endpoint.finish({ isFailure, isOurs, durationMillis, role }),
    );
    const random = Math.random();
    this.#writer.add(endOf(row, config, { result, lease, startedAt, random, breaker }));
  }

  /**
   * Gives claimed rows back without an attempt. If that fails, their leases run out, so the error needs no handling.
   */
  async #giveBack(rows: readonly ClaimedRow[], lease: number): Promise<void> {
    if (rows.length > 0) await releaseDeliveries(this.#db, rows, lease).catch(() => {});
  }
}
