import type { Log } from '../platform/log.ts';
import type { Database } from '../platform/postgres/database.ts';
import { type Repeated, repeat } from '../platform/work/repeat.ts';
import * as queries from './hold-back-queries.ts';

/** How much of one tenant may wait to be delivered; 0 = any number. */
type WaitingBounds = { readonly rows: number; readonly bytes: number };

type Options = {
  readonly bounds: WaitingBounds;
  readonly deliveryDays: number;
  /** So long a report may take to be committed. */
  readonly settleMillis: number;
  readonly everyMillis: number;
  readonly log: Pick<Log, 'warn' | 'info'>;
};

/** A look that took long is followed by a wait of so many times as long, but never of more than five minutes. */
const [restsPerLook, mostMillis] = [20, 300_000];

/** Looks again and again at what waits, and holds back what comes for endpoints of tenants that have too much. */
export function startHoldingBack(
  db: Database,
  { everyMillis, log, ...options }: Options,
): Repeated {
  const look = async (signal: AbortSignal) => {
    const startedAt = performance.now();
    try {
      const { begun, ended } = await holdBack(db, options);
      for (const endpoint of begun) log.warn(endpoint, 'too much waits: incidents are held back');
      for (const endpoint of ended) log.info(endpoint, 'incidents are no longer held back');
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'what waits to be delivered could not be counted');
    }
    return Math.max(everyMillis, (performance.now() - startedAt) * restsPerLook);
  };
  const work = repeat(look, { everyMillis: mostMillis, onError: () => {} });
  work.poke();
  return work;
}

/**
 * Counts what waits, and marks the endpoints that get nothing more until there is room. Whoever stores an incident
 * reads the mark with the endpoint. Marks follow from a count, and so are right again whatever befell; until the next a
 * tenant may go beyond its bounds. One process counts at a time.
 */
export async function holdBack(
  db: Database,
  { bounds, deliveryDays, settleMillis }: Omit<Options, 'everyMillis' | 'log'>,
): Promise<queries.HeldBackChanges> {
  const full = await db.transaction(async (connection) => {
    if (!(await queries.tryLockHoldingBack(connection))) return null;
    if (bounds.rows === 0 && bounds.bytes === 0) return [];
    const backlogs = await queries.listBacklogs(connection, bounds.rows);
    return chooseFull(backlogs, bounds, (of) => queries.countEndpointsOf(connection, of));
  });
  if (full === null) return { begun: [], ended: [] };
  // It commits by itself, so that a process that freezes here holds no mark back.
  const changes = await queries.markHeldBack(db, full);
  await queries.forgetHeldBack(db, { deliveryDays, settleSeconds: settleMillis / 1000 });
  return changes;
}

/** Once something is held back, there must be a tenth of room before it ends. */
const keptShare = 0.9;

const measures = ['rows', 'bytes'] as const;
type Measure = (typeof measures)[number];

/** How much may wait of a tenant with these backlogs before incidents are held back. */
function mostOf(own: readonly queries.Backlog[], bounds: WaitingBounds, measure: Measure): number {
  if (bounds[measure] === 0) return Number.POSITIVE_INFINITY;
  return bounds[measure] * (own.some((each) => each.is_held_back) ? keptShare : 1);
}

/** The tenants of which more waits than may, and by which measures. */
function listOver(backlogs: readonly queries.Backlog[], bounds: WaitingBounds) {
  const byTenant = new Map<string, queries.Backlog[]>();
  for (const each of backlogs) {
    const own = byTenant.get(each.tenant);
    if (own === undefined) byTenant.set(each.tenant, [each]);
    else own.push(each);
  }
  return [...byTenant].flatMap(([tenant, own]) =>
    measures.flatMap((measure) => {
      const most = mostOf(own, bounds, measure);
      const sum = own.reduce((all, each) => all + each[measure], 0);
      return sum < most ? [] : [{ tenant, own, measure, most }];
    }),
  );
}

/**
 * The endpoints that get nothing more: while a tenant has as much waiting as it may, those with half an equal share of it or
 * more. The others, which deliver, are not hurt, and together never have more than half of what is allowed: so the tenant
 * never has more than one and a half times as much. `countsOf` counts the endpoints of tenants.
 */
export async function chooseFull(
  backlogs: readonly queries.Backlog[],
  bounds: WaitingBounds,
  countsOf: (tenants: readonly string[]) => Promise<ReadonlyMap<string, number>>,
): Promise<string[]> {
  const over = listOver(backlogs, bounds);
  if (over.length === 0) return [];
  const counts = await countsOf([...new Set(over.map(({ tenant }) => tenant))]);
  const full = over.flatMap(({ tenant, own, measure, most }) => {
    const share = most / 2 / Math.max(1, counts.get(tenant) ?? own.length);
    return own.filter((each) => each[measure] >= share).map(({ id }) => id);
  });
  return [...new Set(full)];
}
