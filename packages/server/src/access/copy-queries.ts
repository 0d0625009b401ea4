import sql from 'sql-template-tag';
import type { Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import { isLookedAt } from './audit-queries.ts';

/** A copy is taken from a process that has said nothing of it for so long. */
const leaseSeconds = 120;

/**
 * Takes the copying to a store; undefined while another process has it. Processes whose settings name other stores, as
 * while they are restarted one by one, keep their places. `leased_until` is when a process has looked last.
 */
export async function takeCopy(
  db: Queryable,
  location: string,
): Promise<{ place: number } | undefined> {
  await db.query(sql`
    delete from audit_copies where location <> ${location} and not (${isLookedAt})`);
  await db.query(
    sql`insert into audit_copies (location) values (${location}) on conflict do nothing`,
  );
  const [row] = await db.query<{ place: number }>(sql`
    update audit_copies set leased_until = now() + make_interval(secs => ${leaseSeconds})
    where location = ${location} and coalesce(leased_until <= now(), true) returning place`);
  return row;
}

/** Notes that all entries up to a place are in the store. */
export async function noteCopied(
  db: Queryable,
  location: string,
  place: number,
): Promise<{ place: number }> {
  const [row] = await db.query<{ place: number }>(sql`
    update audit_copies set place = greatest(place, ${place}), copied_at = now(),
      leased_until = now() + make_interval(secs => ${leaseSeconds})
    where location = ${location} returning place`);
  return row ?? { place };
}

/** Gives the copying back, and says nothing of the store. */
export async function releaseCopy(db: Queryable, location: string): Promise<void> {
  await db.query(sql`update audit_copies set leased_until = now() where location = ${location}`);
}

/** Gives the copying back, with its fault or null. A failing target rests a quarter of that time, at most 5 minutes. */
export async function endCopy(
  db: Queryable,
  location: string,
  error: string | null,
): Promise<void> {
  await db.query(sql`
    update audit_copies set error = ${error},
      leased_until = case when ${error}::text is null then now() else now() + greatest(interval '0',
        least(interval '5 minutes', (now() - coalesce(failing_since, now())) / 4 - interval '10 seconds')) end,
      failing_since = case when ${error}::text is not null then coalesce(failing_since, now()) end
    where location = ${location}`);
}

/** How many entries each target is yet to get, of those at which some process looks. */
export async function countUncopied(db: Queryable): Promise<{ location: string; count: number }[]> {
  return db.query(sql`
    select location, greatest(last_place - place, 0) as count
    from audit_copies cross join audit_chain where ${isLookedAt}`);
}

/** A store that nobody has tried for so long is no concern any more: an attempt takes minutes at most. */
const triedMinutes = 15;

/** A store to which the audit log cannot be copied, though processes still try. Times are RFC 3339. */
export type FailingCopy = { location: string; failing_since: string; error: string };

export async function findFailingCopy(db: Queryable): Promise<FailingCopy | undefined> {
  const [row] = await db.query<FailingCopy>(sql`
    select location, ${instantText('failing_since')} as failing_since, error from audit_copies
    where failing_since is not null
      and coalesce(leased_until, now()) > now() - make_interval(mins => ${triedMinutes})
    order by failing_since limit 1`);
  return row;
}
