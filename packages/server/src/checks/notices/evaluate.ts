import { newId } from '../../kernel/ids.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { stopTogether } from '../../platform/work/stop.ts';
import { severities, type Telling } from '../values.ts';
import { isForTenants, toTenantItem } from './for-tenant.ts';
import * as queries from './queries.ts';
import { findNextDue } from './queries.ts';
import { type Found, type OpenTrouble, reconcile } from './reconcile.ts';
import { type SendOptions, sendDue } from './send.ts';

/** Looks at what is wrong now, and at what has ended since a time. It must throw rather than leave something out. */
export type Find = {
  troubles(db: Queryable): Promise<readonly Found[]>;
  /** `since` is RFC 3339; null when no event is known yet. */
  events(db: Queryable, since: string | null): Promise<readonly Found[]>;
  /** Does what was told a day ago, if it is still to be done. */
  act(db: Queryable, announced: readonly Found[]): Promise<void>;
};

/**
 * Stores what has changed, and a message to each target that is to be told of it, in one transaction: a process that is
 * killed has told either nothing, and the next one tells it, or all. Several processes may call it; one does it, and for
 * the others it returns false.
 */
export async function evaluate(
  db: Database,
  { find, historyDays }: { find: Find; historyDays: number },
): Promise<boolean> {
  return db.transaction(async (connection) => {
    if (!(await queries.tryLockNotices(connection))) return false;
    const troubles = await find.troubles(connection);
    const open = await queries.listOpenTroubles(connection);
    await find.act(connection, listAnnounced(open, troubles));
    const told = [
      ...(await storeTroubles(connection, open, troubles)),
      ...(await storeEvents(
        connection,
        await find.events(connection, await queries.findLastEvent(connection)),
      )),
    ];
    await tell(connection, told);
    if (historyDays > 0) await queries.forgetOldNotices(connection, historyDays);
    return true;
  });
}

/** So long before it is done, something is announced. */
const noticeSeconds = 86_400;

/** What was told for long enough, and is still found. */
function listAnnounced(open: readonly OpenTrouble[], found: readonly Found[]): Found[] {
  return found.filter(({ kind, subject }) =>
    open.some(
      (each) =>
        each.kind === kind &&
        each.subject === subject &&
        each.told_age !== null &&
        each.missing_age === null &&
        each.age >= noticeSeconds,
    ),
  );
}

async function storeTroubles(
  db: Queryable,
  open: readonly OpenTrouble[],
  found: readonly Found[],
): Promise<queries.Item[]> {
  const changes = reconcile(open, found);
  const begun = changes.begun.map((each) => ({ id: newId('ntc'), ...each }));
  const kept = changes.kept.map(({ id, found: each, tells }) => ({
    id,
    found: each,
    isTold: tells !== null,
  }));
  await queries.insertTroubles(db, begun);
  await queries.updateTroubles(db, kept);
  await queries.markMissing(db, changes.missing);
  await queries.forgetTroubles(db, changes.forgotten);
  const ended = await queries.endTroubles(
    db,
    changes.over.map(({ id }) => id),
  );
  const tellings = new Map(
    [...changes.kept, ...changes.over].map(({ id, tells }) => [id, tells] as const),
  );
  return [
    ...begun
      .filter(({ isTold }) => isTold)
      .map(({ id, found: each }) => toItem({ id, ...each }, 'begun')),
    ...kept.flatMap((change) => {
      const telling = tellings.get(change.id);
      return telling ? [toItem({ id: change.id, ...change.found }, telling)] : [];
    }),
    ...ended.flatMap((row) => (tellings.get(row.id) === 'over' ? [toItem(row, 'over')] : [])),
  ];
}

async function storeEvents(db: Queryable, found: readonly Found[]): Promise<queries.Item[]> {
  const changes = found.map((each) => ({ id: newId('ntc'), found: each, isTold: true }));
  const isNew = await queries.insertEvents(db, changes);
  return changes
    .filter(({ id }) => isNew.has(id))
    .map((each) => toItem({ id: each.id, ...each.found }, 'event'));
}

function toItem(row: queries.ToldRow, telling: Telling): queries.Item {
  const { id, severity, kind, subject, tenant, title, advice, place, since } = row;
  return { id, telling, severity, kind, subject, tenant, title, advice, place, since };
}

/** So many notices stand in one message; of the others it says how many there are. */
const mostItems = 50;

/** Queues one message for each target that wants some of this; new targets are told of what was open before. */
async function tell(db: Queryable, items: readonly queries.Item[]): Promise<void> {
  const fresh = await queries.briefTargets(db);
  const open = fresh.size === 0 ? [] : await queries.listTold(db);
  if (items.length + open.length === 0) return;
  const all = [...items, ...open.map((row) => toItem(row, 'begun'))].toSorted(
    (a, b) => rank(b) - rank(a),
  );
  const news = all.filter((item) => items.includes(item));
  const sends = (await queries.listTargets(db)).flatMap((target) => {
    const wanted = (fresh.has(target.id) ? all : news)
      .filter((item) => isWanted(target, item))
      .map((item) => (target.tenant === null ? item : toTenantItem(item)));
    if (wanted.length === 0) return [];
    const more = Math.max(0, wanted.length - mostItems);
    return [{ id: newId('nts'), targetId: target.id, items: wanted.slice(0, mostItems), more }];
  });
  await queries.insertSends(db, sends);
}

/** A target that cannot be reached is not told so: that could only fail as well. */
function isWanted(target: queries.TargetRow, item: queries.Item): boolean {
  return (
    target.enabled &&
    (target.tenant === null || (target.tenant === item.tenant && isForTenants(item.kind))) &&
    (target.kinds === null || target.kinds.includes(item.kind)) &&
    rank(item) >= severities.indexOf(target.min_severity) &&
    target.id !== item.subject
  );
}

function rank({ severity }: queries.Item): number {
  return severities.indexOf(severity);
}

const everyMillis = 30_000;

/** Looks every 30 s at what there is to tell, and sends it, until stopped. Several processes share the work. */
export function startNotices(
  db: Database,
  options: SendOptions & { readonly find: Find; readonly historyDays: number },
): Repeated {
  const { log } = options;
  const sending = repeat(
    async (signal) => {
      await sendDue(db, options, signal);
      return Math.max(1000, (await findNextDue(db)) ?? everyMillis);
    },
    { everyMillis, onError: (err) => log.warn({ err }, 'notices could not be sent') },
  );
  const looking = repeat(
    async () => {
      await evaluate(db, options);
      sending.poke();
    },
    { everyMillis, onError: (err) => log.warn({ err }, 'what is wrong could not be looked at') },
  );
  return {
    poke: () => looking.poke(),
    async stop() {
      await stopTogether([looking, sending], log);
    },
  };
}
