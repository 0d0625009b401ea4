import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import * as queries from './queries.ts';
import { ReplayFilter } from './replay-filter.ts';

/** For so long the filter of an endpoint is asked, and then for as long the rest is counted: it may be millions. */
const mostMillis = 5000;

/** So many incidents are counted at a time. 1.5 million took 22 s on a busy machine. */
const pieceRows = 20_000;

export type CountedReplay = {
  readonly counts: Readonly<Record<queries.IncidentState, number>>;
  /** The filter was asked about what was reported up to then, and of the rest nobody knows; null: about all. */
  readonly filteredUntil: string | null;
  /** What was reported later was not counted; null: all was. */
  readonly countedUntil: string | null;
  /** Whether this release cannot read the filter, so that it lets everything through. */
  readonly isUnreadable: boolean;
  /** How many of each state pass because the filter costs too much. */
  readonly costly: Readonly<Record<queries.IncidentState, number>>;
};

const none = {
  missed: 0,
  discarded: 0,
  failed: 0,
  delivered: 0,
  waiting: 0,
  unwanted: 0,
  erased: 0,
};

/**
 * Counts all incidents of a scope by what a replay makes of them. What the filter refuses is unwanted, whatever was
 * delivered of it. When its time is over, the rest counts as if it passed, as far as there is time to count it.
 */
export async function countReplay(
  db: Queryable,
  scope: queries.ReplayScope,
  options: { days: number; hasFilter: boolean; clock: Clock; log: Pick<Log, 'warn'> },
): Promise<CountedReplay> {
  const { days, hasFilter, clock, log } = options;
  const [counts, costly] = [{ ...none }, { ...none }];
  const filter = new ReplayFilter(log);
  let stopMillis = clock() + mostMillis;
  let after: queries.ReplayPlace | null = null;
  let isUnreadable = false;
  while (hasFilter && (after === null || clock() < stopMillis)) {
    const looked: queries.Looked = await queries.lookAt(db, scope, { after, days });
    const { rows, end } = looked;
    const askable = rows.filter(({ state }) => state !== 'unwanted' && state !== 'erased');
    const asked = await filter.ask(db, looked.filter, askable);
    const next = askable[asked.known.length];
    const through = next === undefined ? rows : rows.slice(0, rows.indexOf(next));
    const passed = new Set(asked.passed);
    const refused = new Set(asked.known.filter((row) => !passed.has(row)));
    for (const row of through) counts[refused.has(row) ? 'unwanted' : row.state] += 1;
    for (const { state } of asked.costly) costly[state] += 1;
    isUnreadable ||= asked.isUnreadable;
    if (next === undefined && end === null) {
      return { counts, filteredUntil: null, countedUntil: null, isUnreadable, costly };
    }
    after = next === undefined ? end : queries.placeOf(through);
  }
  const filteredUntil = after?.at ?? null;
  stopMillis = clock() + mostMillis;
  do {
    const piece: Awaited<ReturnType<typeof queries.countByState>> = await queries.countByState(
      db,
      scope,
      { after, days, limit: pieceRows },
    );
    for (const state of Object.keys(none) as (keyof typeof none)[]) {
      counts[state] += piece.counts[state] ?? 0;
    }
    after = piece.end;
  } while (after !== null && clock() < stopMillis);
  return { counts, filteredUntil, countedUntil: after?.at ?? null, isUnreadable, costly };
}
