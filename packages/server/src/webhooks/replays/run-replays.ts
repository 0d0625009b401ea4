import type { Log } from '../../platform/log.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { Pace } from '../../platform/work/pace.ts';
import type { Repeated, ShareDone } from '../../platform/work/repeat.ts';
import { timeText } from '../lanes.ts';
import { lockKeys, passOnLocked } from '../order/queries.ts';
import { doPacedShare, shareOf, startPaced } from '../paced-jobs.ts';
import type { WakeUp } from '../wake-up.ts';
import { statesOf } from './ask-replay.ts';
import * as queries from './queries.ts';
import { ReplayFilter } from './replay-filter.ts';
import { forgottenText, mostWaiting } from './words.ts';

type Options = {
  readonly wakeUp: WakeUp;
  readonly deliveryDays: number;
  /** So long after the end of its range a replay may end, so that no report of it is still under way. */
  readonly settleMillis: number;
  readonly filter: ReplayFilter;
  readonly log: Pick<Log, 'warn'>;
};

/** Works on replays until it is stopped: see `startPaced`. One may take days by its rate. */
export function startReplays(
  db: Database,
  { pace, ...given }: Omit<Options, 'filter'> & { pace: Pace },
): Repeated {
  const { log } = given;
  const options = { ...given, filter: new ReplayFilter(log) };
  return startPaced(() => runShare(db, options), { title: 'share of a replay', log, pace });
}

/** How soon it looks again after its deliveries or an incident kept it from going on. */
const waits = { full: 0.1, disabled: 2, locked: 0.1, unsettled: 0.5 };

export function runShare(
  db: Database,
  { wakeUp, settleMillis, ...options }: Options,
): Promise<ShareDone> {
  return doPacedShare(db, { table: queries.replayTable, wakeUp }, async (connection) => {
    const job = await queries.lockReadyReplay(connection, settleMillis / 1000);
    if (job === undefined) return null;
    const share = await doShare(connection, job, options);
    await queries.advanceReplay(connection, job.id, share);
    return share.done > 0 ? [job.endpointId] : [];
  });
}

const nothing: queries.ReplayShare = {
  done: 0,
  skipped: 0,
  place: null,
  isLast: false,
  error: null,
  waitSeconds: 0,
};

/** Makes the next deliveries, in the order of the reports, as many as its rate and those that wait already allow. */
async function doShare(
  db: Queryable,
  job: queries.ReplayJob,
  { deliveryDays: days, filter, log }: Pick<Options, 'deliveryDays' | 'filter' | 'log'>,
): Promise<queries.ReplayShare> {
  const room = mostWaiting - (await queries.countUntried(db, job.id, mostWaiting));
  if (room <= 0) {
    return { ...nothing, waitSeconds: job.isEndpointDisabled ? waits.disabled : waits.full };
  }
  // What is re-armed is there already.
  if (job.isHeldBack && job.selection !== 'failed') {
    return { ...nothing, waitSeconds: waits.disabled };
  }
  const limit = Math.min(room, shareOf(job.rate));
  const looked = await lookAhead(db, job, { days, limit, filter });
  const { rows, end, selected, known, passed: picked, costly, forgotten_before } = looked;
  if (costly.length > 0) {
    const told = { replay: job.id, endpoint: job.endpointId, incidents: costly.length };
    log.warn(told, 'the filter of an endpoint costs too much: incidents go there unfiltered');
  }
  // Whoever has an incident locked may erase it: the share ends before it, and the next one sees what has become of it.
  const free = await queries.lockIncidents(
    db,
    picked.map(({ id }) => id),
  );
  const cut = picked.findIndex(({ id }) => !free.has(id));
  const taken = cut < 0 ? picked : picked.slice(0, cut);
  const held = picked[cut];
  const through = held === undefined ? known : known.slice(0, known.indexOf(held));
  const done = await queueAll(db, job, taken);
  const isCut = through.length < selected.length;
  const isEnd = !isCut && end === null;
  return {
    done,
    skipped: taken.length - done,
    place: isCut ? queries.placeOf(through) : (end ?? queries.placeOf(rows)),
    isLast: isEnd && job.isSettled,
    error: forgotten_before === null ? null : forgottenText(forgotten_before),
    waitSeconds: cut === 0 ? waits.locked : isEnd ? waits.unsettled : 0,
  };
}

/**
 * Looks at no more incidents than can be taken, as long as most of them are: by a rate of 200 each was looked at by forty
 * shares, which took most of the time of a replay. Where few are taken it looks further.
 */
async function lookAhead(
  db: Queryable,
  job: queries.ReplayJob,
  { days, limit, filter }: { days: number; limit: number; filter: ReplayFilter },
) {
  const look = async (far: { limit?: number }) => {
    const walk = { after: job.place, days, ...far };
    const { filter: text, ...found } = await queries.lookAt(db, job, walk);
    const selected = found.rows.filter(({ state }) => statesOf[job.selection].includes(state));
    // The filter is asked inside the transaction: it is that of this moment, and its steps are bounded.
    return { ...found, selected, ...(await filter.ask(db, text, selected, limit)) };
  };
  const near = await look({ limit });
  const isEnough = near.passed.length * 2 >= limit || near.known.length < near.selected.length;
  return isEnough || near.end === null ? near : look({});
}

async function queueAll(
  db: Queryable,
  job: queries.ReplayJob,
  taken: readonly queries.LookedRow[],
): Promise<number> {
  const time = timeText(Date.now());
  const dead: Parameters<typeof queries.rearmInOrder>[2][number][] = [];
  const fresh: queries.NewDelivery[] = [];
  for (const [place, { id, state, type, lane, delivery_id, first_key }] of taken.entries()) {
    if (state === 'failed' && lane !== null && delivery_id !== null) {
      dead.push({ lane, id: delivery_id, place });
    } else fresh.push({ incidentId: id, type, timeText: time, firstKey: first_key, place });
  }
  const keys = fresh.length === 0 ? [] : await queries.listKeysOf(db, job.endpointId, fresh);
  // Under the locks of their keys, their numbers are in the order in which they go.
  if (keys.length > 0) await lockKeys(db, keys);
  const made = fresh.length === 0 ? 0 : await queries.makeDeliveries(db, job, fresh);
  if (keys.length > 0) await passOnLocked(db, keys);
  // Last, because it changes the counters of dead letters.
  return made + (dead.length === 0 ? 0 : await queries.rearmInOrder(db, job, dead));
}
