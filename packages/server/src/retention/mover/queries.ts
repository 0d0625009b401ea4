import sql, { raw } from 'sql-template-tag';
import { type Connection, onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { areObjectsHeld } from '../../platform/postgres/locks.ts';
import { givenRows, instantText } from '../../platform/postgres/sql-text.ts';
import type { DayTriple, GoneEffects, LiveSegment, Triple } from '../../records/segments.ts';
import { calledOffCodes, type MoveKind, type MoveState } from '../values.ts';
import type { Move, MoveSegment } from './move.ts';

const columns = raw(
  'tenant, id, kind, state, first_day::text as first_day, last_day::text as last_day, request',
);

type NewMove = {
  tenant: string;
  id: string;
  runId: string | null;
  kind: MoveKind;
  firstDay: string;
  lastDay: string;
  request?: unknown;
  runner: string;
};

export async function insertMove(db: Queryable, move: NewMove): Promise<Move> {
  const request = move.request === undefined ? null : JSON.stringify(move.request);
  const rows = await db.query<Move>(sql`
    with planned as (
      insert into moves (tenant, id, run_id, kind, first_day, last_day, request, runner)
      values (${move.tenant}, ${move.id}, ${move.runId}, ${move.kind}, ${move.firstDay}::date,
        ${move.lastDay}::date, ${request}::json, ${move.runner})
      returning *
    ) select ${columns} from planned`);
  return onlyRow(rows);
}

export async function insertMoveSegment(
  db: Queryable,
  move: { tenant: string; id: string },
  segment: MoveSegment & { role: 'in' | 'out' },
): Promise<void> {
  await db.query(sql`
    insert into move_segments (tenant, move_id, segment_id, role, object_key, size_bytes, sha256)
    values (${move.tenant}, ${move.id}, ${segment.segment_id}, ${segment.role}, ${segment.object_key},
      ${segment.size_bytes}, ${segment.sha256})`);
}

/**
 * Notes what the segments that a move replaces held, while the catalogue still says so: whoever tells readers of this
 * switch later has it from here. Times are whole days, so that no time of a record outlasts it.
 */
export async function noteHeld(connection: Connection, move: Move): Promise<void> {
  await connection.query(sql`
    update move_segments replaced set held = json_build_object(
      'born', (extract(epoch from segment.created_at) * 1000000)::bigint,
      'count', segment.count, 'digest', segment.digest::text,
      'first_store', (select min(store) from segment_days where tenant = ${move.tenant} and segment_id = segment.id),
      'last_store', (select max(store) from segment_days where tenant = ${move.tenant} and segment_id = segment.id),
      'first_micros', (extract(epoch from segment.first_day) * 1000000)::bigint::text,
      'last_micros', (extract(epoch from segment.last_day + 1) * 1000000 - 1)::bigint::text)
    from segments segment
    where replaced.tenant = ${move.tenant} and replaced.move_id = ${move.id} and role = 'in'
      and segment.tenant = ${move.tenant} and segment.id = replaced.segment_id`);
}

export async function listMoveSegments(
  db: Queryable,
  move: Move,
  role: 'in' | 'out',
): Promise<MoveSegment[]> {
  return db.query<MoveSegment>(sql`
    select segment_id, object_key, size_bytes, sha256 from move_segments
    where tenant = ${move.tenant} and move_id = ${move.id} and role = ${role} order by segment_id`);
}

/** Makes this process the one that works on the tenant's unfinished moves, and lists them, the oldest first. */
export async function takeOver(db: Queryable, tenant: string, runner: string): Promise<Move[]> {
  return db.query<Move>(sql`
    with taken as (
      update moves set runner = ${runner}
      where tenant = ${tenant} and state not in ('removed', 'failed')
      returning *
    ) select ${columns} from taken order by planned_at, id`);
}

/** Takes the moves of all tenants that have not settled their objects yet away from the processes that work on them. */
export async function takePlanned(connection: Connection): Promise<Move[]> {
  return connection.query<Move>(sql`
    with taken as (
      update moves set runner = 'nobody' where state = 'planned' returning *
    ) select ${columns} from taken`);
}

/** Locks a move that still belongs to this process and is still in this state; false when it does not or is not. */
export async function lockMove(
  connection: Connection,
  move: Move,
  holder: { runner: string; state: MoveState },
): Promise<boolean> {
  const rows = await connection.query(sql`
    select id from moves where tenant = ${move.tenant} and id = ${move.id}
      and runner = ${holder.runner} and state = ${holder.state} for update`);
  return rows.length === 1;
}

/** Strikes segments that a move was to write from the journal, apart from `except`. Returns their object keys. */
export async function deleteOutSegments(
  db: Queryable,
  move: Move,
  except: readonly string[] = [],
): Promise<string[]> {
  const rows = await db.query<{ object_key: string }>(sql`
    delete from move_segments where tenant = ${move.tenant} and move_id = ${move.id} and role = 'out'
      and segment_id <> all(${except}::text[])
    returning object_key`);
  return rows.map((row) => row.object_key);
}

/** Stores the size and checksum of an object that was written. */
export async function setWritten(
  db: Queryable,
  move: Move,
  { segment_id: id, size_bytes, sha256 }: MoveSegment,
): Promise<void> {
  await db.query(sql`
    update move_segments set size_bytes = ${size_bytes}, sha256 = ${sha256}
    where tenant = ${move.tenant} and move_id = ${move.id} and segment_id = ${id}`);
}

/** Sums up what these moves of a tenant did. One that policies called off has not failed. */
export async function sumMoves(
  db: Queryable,
  tenant: string,
  ids: readonly string[],
): Promise<{ movedCount: number; movedBytes: number; deletedCount: number; failedMoves: number }> {
  const rows = await db.query<Awaited<ReturnType<typeof sumMoves>>>(sql`
    select coalesce(sum(object_count) filter (where kind = 'move' and is_done), 0)::bigint as "movedCount",
      coalesce(sum(object_bytes) filter (where kind = 'move' and is_done), 0)::bigint as "movedBytes",
      coalesce(sum(gone_count) filter (where kind = 'delete' and is_done), 0)::bigint as "deletedCount",
      count(*) filter (where state = 'failed' and coalesce(error_code, '') <> all (${calledOffCodes}::text[]))
        as "failedMoves"
    from moves cross join lateral (select state in ('switched', 'removed') as is_done) done
    where tenant = ${tenant} and id = any(${ids}::text[])`);
  return onlyRow(rows);
}

export async function insertMoveDays(
  db: Queryable,
  move: Move,
  days: readonly DayTriple[],
): Promise<void> {
  const types = { store: 'text', day: 'date', count: 'bigint', bytes: 'bigint', digest: 'numeric' };
  await db.query(sql`
    insert into move_days (tenant, move_id, store, day, count, bytes, digest)
    select ${move.tenant}, ${move.id}, store, day, count, bytes, digest
    from ${givenRows('given', days, types)}`);
}

/** Lists what the new segments of a move must hold together. */
export async function listMoveDays(db: Queryable, move: Move): Promise<DayTriple[]> {
  return db.query<DayTriple>(sql`
    select store, day::text as day, count, bytes, digest from move_days
    where tenant = ${move.tenant} and move_id = ${move.id} order by store, day`);
}

/** Which triple of a move is known from each of these states on. */
const triples = { copied: 'source', verified: 'object', switched: 'gone' } as const;

/** Takes a move to a state, with the triple that is known by then. What it has waited for is forgotten. */
export async function setState(
  db: Queryable,
  move: Move,
  to: { state: keyof typeof triples; triple: Triple; storedBytes?: number },
): Promise<void> {
  const { count, bytes, digest } = to.triple;
  const of = (column: keyof Triple) => raw(`${triples[to.state]}_${column}`);
  await db.query(sql`
    update moves set state = ${to.state}, ${raw(to.state)}_at = now(), error_code = null, error = null,
      ${of('count')} = ${count}, ${of('bytes')} = ${bytes}, ${of('digest')} = ${digest}::numeric,
      stored_bytes = coalesce(${to.storedBytes ?? null}::bigint, stored_bytes)
    where tenant = ${move.tenant} and id = ${move.id}`);
}

/** Stores what else went or changed with the records that left for good. */
export async function setEffects(db: Queryable, move: Move, effects: GoneEffects): Promise<void> {
  await db.query(sql`
    update moves set effects = ${JSON.stringify(effects)}::json
    where tenant = ${move.tenant} and id = ${move.id}`);
}

/** Lists up to three names of dataset versions that have days in this range. */
export async function listKeepers(
  db: Queryable,
  { tenant, firstDay, lastDay }: { tenant: string; firstDay: string; lastDay: string },
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(sql`
    select name from dataset_versions v where tenant = ${tenant} and exists (
      select 1 from dataset_version_windows w where w.tenant = v.tenant and w.version_id = v.id
        and w.first_day <= ${lastDay}::date and w.until > ${firstDay}::date)
    order by name limit 3`);
  return rows.map((row) => row.name);
}

/** Stores what a move that has not ended waits for. It is cleared when the move goes on. */
export async function setWaiting(
  db: Queryable,
  move: Move,
  fault: { code: string; message: string },
): Promise<void> {
  await db.query(sql`
    update moves set error_code = ${fault.code}, error = ${fault.message}
    where tenant = ${move.tenant} and id = ${move.id} and state = ${move.state}`);
}

/** Fails a move. An erasure forgets event ids and subject, as one that is done does: nobody takes it up again. */
export async function setFailed(
  db: Queryable,
  move: Move,
  fault: { code: string; message: string },
): Promise<void> {
  await db.query(sql`
    update moves set state = 'failed', failed_at = now(), failed_in = state,
      error_code = ${fault.code}, error = ${fault.message},
      request = case when kind <> 'erase' then request end
    where tenant = ${move.tenant} and id = ${move.id}`);
}

/** Ends those of these moves whose replaced objects are removed and tables scrubbed. Returns their ids. */
export async function endSwitched(
  db: Queryable,
  tenant: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    update moves m set state = 'removed', removed_at = now()
    where m.tenant = ${tenant} and m.id = any(${ids}) and m.state = 'switched'
      and coalesce(m.scrub_due, '{}') = '{}' and not exists (
      select 1 from move_segments s join object_removals r
        on r.tenant = s.tenant and r.object_key = s.object_key
      where s.tenant = m.tenant and s.move_id = m.id and s.role = 'in')
    returning m.id`);
  return rows.map((row) => row.id);
}

/** Queues objects that nothing refers to any more for removal after the grace. One that is queued keeps its time. */
export async function queueRemovals(
  db: Queryable,
  move: { tenant: string; id: string },
  objects: { keys: readonly string[]; graceSeconds: number },
): Promise<void> {
  await db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    select ${move.tenant}, key, ${move.id}, now() + ${objects.graceSeconds} * interval '1 second'
    from unnest(${objects.keys}::text[]) as given(key)
    on conflict (tenant, object_key) do nothing`);
}

export type Removal = { tenant: string; object_key: string; move_id: string; remove_after: string };

const removalColumns = sql`tenant, object_key, move_id, ${instantText('remove_after')} as remove_after`;

/**
 * Lists objects whose time has come, the first after `after`; none while a backup holds them. One of a live segment is
 * never listed.
 */
export async function listDueRemovals(
  db: Queryable,
  limit: number,
  after?: Removal,
): Promise<Removal[]> {
  const isNext =
    after === undefined
      ? sql`true`
      : sql`(removal.remove_after, tenant, object_key)
        > (${after.remove_after}::timestamptz, ${after.tenant}, ${after.object_key})`;
  const due = await db.query<Removal>(sql`
    select ${removalColumns} from object_removals removal
    where removal.remove_after <= now() and ${isNext} and not exists (
      select 1 from segments where tenant = removal.tenant and object_key = removal.object_key)
    order by removal.remove_after, tenant, object_key limit ${limit}`);
  return unlessHeld(db, due);
}

/**
 * Lists objects that should have been removed minutes ago, of these tenants (null: of all), with keys that begin so; none
 * while a backup holds objects, nor while a process that has only just begun catches up on what fell due before it.
 */
export async function listOverdueRemovals(
  db: Queryable,
  {
    tenants,
    prefix = '',
    limit,
  }: { tenants: readonly string[] | null; prefix?: string; limit: number },
): Promise<Removal[]> {
  const overdue = await db.query<Removal>(sql`
    select ${removalColumns} from object_removals removal
    where removal.remove_after < now() - interval '5 minutes' and starts_with(object_key, ${prefix})
      and (${tenants}::text[] is null or tenant = any(${tenants}::text[]))
    order by removal.remove_after limit ${limit}`);
  const begun = sql`exists (
    select from processes where 'retention' = any(roles) and since > now() - interval '5 minutes')`;
  return unlessHeld(db, overdue, sql`${areObjectsHeld} or ${begun}`);
}

/**
 * None of these while `held`: usually while a backup holds objects. It is looked at in a statement of its own, after the
 * objects were read: whoever finds the lock free then finds none that a snapshot needs, and no cluster joins its tables
 * with the catalogue.
 */
async function unlessHeld<T>(db: Queryable, removals: T[], held = areObjectsHeld): Promise<T[]> {
  if (removals.length === 0) return removals;
  const [row] = await db.query<{ are_held: boolean }>(sql`select ${held} as are_held`);
  return row?.are_held === false ? removals : [];
}

export async function deleteRemoval(db: Queryable, removal: Removal): Promise<void> {
  await db.query(sql`
    delete from object_removals
    where tenant = ${removal.tenant} and object_key = ${removal.object_key}`);
}

export type HotDay = { day: string; count: number; bytes: number };

/** Lists the tenant's days that have hot records, the oldest first. */
export async function listHotDays(
  db: Queryable,
  tenant: string,
  { after, lastDay }: { after: string | null; lastDay: string },
): Promise<HotDay[]> {
  return db.query<HotDay>(sql`
    select day::text as day, sum(count - cold_count)::bigint as count,
      sum(bytes - cold_bytes)::bigint as bytes
    from leaf_days
    where tenant = ${tenant} and has_hot and day <= ${lastDay}::date
      and (${after}::date is null or day > ${after}::date)
    group by leaf_days.day order by leaf_days.day limit 400`);
}

export type SmallSegment = LiveSegment & { count: number; bytes: number };

/** Lists the tenant's live segments below a size, in the order of their days. */
export async function listSmallSegments(
  db: Queryable,
  tenant: string,
  belowBytes: number,
): Promise<SmallSegment[]> {
  return db.query<SmallSegment>(sql`
    select id, object_key, size_bytes, sha256, count, bytes, first_day::text as first_day,
      last_day::text as last_day
    from segments where tenant = ${tenant} and size_bytes < ${belowBytes}
    order by segments.first_day, segments.last_day, id limit 1000`);
}

/**
 * Finds pairs of these segments that both have records of the same day of a store. It groups by day instead of joining
 * the days with themselves: right after a large move, before PostgreSQL has gathered statistics, that join took
 * minutes.
 */
export async function listOverlaps(
  db: Queryable,
  tenant: string,
  ids: readonly string[],
): Promise<{ a: string; b: string }[]> {
  return db.query(sql`
    select distinct a.id as a, b.id as b from (
      select array_agg(segment_id) as ids from segment_days
      where tenant = ${tenant} and segment_id = any(${ids}) group by store, day having count(*) > 1
    ) shared
    cross join lateral unnest(shared.ids) a(id) cross join lateral unnest(shared.ids) b(id)
    where b.id > a.id limit 10000`);
}

/** Keeps all policies until the transaction ends: whoever changes one locks the default's row, as putPolicy does. */
export async function lockPolicies(connection: Connection): Promise<void> {
  await connection.query(sql`select tenant from retention_policies where tenant = '*' for share`);
}

/**
 * Has the planner learn what was added to the catalogue. Where it knows of other tenants alone, it takes any index of a
 * tenant's days to be as good: looking up 359 days among 40,000 took 30 s, and 2 ms afterwards.
 */
export async function analyzeDays(db: Queryable): Promise<void> {
  await db.query(sql`analyze (skip_locked) segment_days, leaf_days`);
}
