import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import sql, { join, raw, type Sql } from 'sql-template-tag';
import { type Connection, type Queryable, sqlState } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { type CounterTable, counterKeys } from '../segments/queries.ts';

/** What a transaction adds to a day of a store, or to one of the counters above it. */
export type Delta = {
  tenant: string;
  store: string;
  /** The day as `YYYY-MM-DD`, UTC. */
  day: string;
  count: number;
  bytes: number;
  /** Decimal text, 0 to 2^64 − 1. */
  digest: string;
  first_at: string;
  last_at: string;
};

const columns =
  'tenant, store, occurred_at, event_id, kind, source, model, confidence, bytes, digest, enrichment';

/** Makes the stage of this connection: a temporary table, which costs no WAL and is emptied by each commit. */
export async function createStage(connection: Connection): Promise<void> {
  await connection.client.query(`create temporary table ingest_stage (
    ordinal integer, tenant text collate "C", store text collate "C", occurred_at timestamptz,
    event_id text collate "C", kind text, source text, model text, confidence text,
    bytes integer, digest bigint, enrichment json
  ) on commit delete rows`);
}

/** Returns whether this connection has its stage already: connections of the pool keep it between transactions. */
export async function hasStage(connection: Connection): Promise<boolean> {
  const rows = await connection.query<{ found: boolean }>(
    sql`select to_regclass('pg_temp.ingest_stage') is not null as found`,
  );
  return rows[0]?.found ?? false;
}

export async function fillStage(connection: Connection, text: Iterable<Buffer>): Promise<void> {
  const copy = connection.client.query(
    copyFrom(`copy ingest_stage (ordinal, ${columns}) from stdin`),
  );
  // The listener stays after the pipeline has ended, because an error that nobody listens for ends the process.
  copy.on('error', () => {});
  await pipeline(Readable.from(text, { objectMode: true, highWaterMark: 4 }), copy);
}

/**
 * Stores what is new in the stage. Returns what that adds to each day of a store. Usually everything is new, and an
 * insert that does not look for conflicts takes two thirds of the time, so only when a conflict turns up it starts
 * again and looks for them. A part that was sent before fails at its first row, so the first try costs little.
 */
export async function insertNew(connection: Connection): Promise<Delta[]> {
  await connection.client.query('savepoint all_new');
  try {
    return await insertStaged(connection, raw(''));
  } catch (error) {
    if (sqlState(error) !== uniqueViolation) throw error;
    await connection.client.query('rollback to savepoint all_new');
    return insertStaged(connection, raw('on conflict do nothing'));
  }
}

const uniqueViolation = '23505';

/**
 * Inserts in the order of the keys, as every other writer does: two that meet wait for each other instead of
 * deadlocking. All records get one recorded_at, taken at a time when nobody can pin a slice of their tenants any more;
 * `lockPins` explains why.
 */
async function insertStaged(connection: Connection, onConflict: Sql): Promise<Delta[]> {
  return connection.query<Delta>(sql`
    with added as (
      insert into enrichment_records (${raw(columns)}, recorded_at)
      select ${raw(columns)}, (select clock_timestamp()) from ingest_stage
      order by tenant, store, occurred_at, event_id, ordinal
      ${onConflict}
      returning tenant, store, occurred_at, bytes, digest
    )
    select tenant, store, (occurred_at at time zone 'UTC')::date::text as day,
      count(*) as count, sum(bytes) as bytes,
      mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616) as digest,
      ${instantText('min(occurred_at)')} as first_at, ${instantText('max(occurred_at)')} as last_at
    from added group by 1, 2, 3`);
}

/**
 * Returns the rows of the stage whose identity is stored with other content, or which were found stored but are not hot
 * any more. Call it after what is new in the stage has been stored. PostgreSQL has no statistics of the stage; the
 * lateral join keeps it from reading whole months.
 */
export async function listConflicts(
  connection: Connection,
): Promise<{ ordinal: number; is_gone: boolean }[]> {
  return connection.query(sql`
    select staged.ordinal, stored.event_id is null as is_gone from ingest_stage staged
    left join lateral (
      select stored.event_id, stored.digest, stored.kind, stored.source, stored.model, stored.confidence,
        stored.enrichment::text as enrichment
      from enrichment_records stored
      where stored.tenant = staged.tenant and stored.store = staged.store
        and stored.occurred_at = staged.occurred_at and stored.event_id = staged.event_id
      limit 1
    ) stored on true
    where (stored.digest, stored.kind, stored.source, stored.model, stored.confidence, stored.enrichment)
      is distinct from
      (staged.digest, staged.kind, staged.source, staged.model, staged.confidence, staged.enrichment::text)
    order by staged.ordinal`);
}

/** Undoes what `insertNew` and the counters did, and frees the locks taken since. The stage stays filled. */
export async function undoInsert(connection: Connection): Promise<void> {
  await connection.client.query('rollback to savepoint all_new');
}

/** A day of a store that has cold records. A check of late records counts only for exactly these cold records. */
export type ColdDay = {
  tenant: string;
  store: string;
  /** The day as `YYYY-MM-DD`, UTC. */
  day: string;
  cold_count: number;
  /** The digest of the cold records as decimal text. */
  cold_digest: string;
};

/** What is needed to find a staged record again in a segment. */
export type StagedRecord = {
  ordinal: number;
  tenant: string;
  store: string;
  day: string;
  /** The time in microseconds since 1970. */
  occurred_at: number;
  event_id: string;
  /** Decimal text, 0 to 2^64 − 1. */
  digest: string;
};

/** Returns the staged records that fall on these days, in the order of the request. */
export async function listStagedOfDays(
  connection: Connection,
  days: readonly ColdDay[],
): Promise<StagedRecord[]> {
  return connection.query(sql`
    select staged.ordinal, staged.tenant, staged.store, touched.day::text as day,
      (extract(epoch from staged.occurred_at) * 1000000)::bigint as occurred_at, staged.event_id,
      mod(staged.digest::numeric + 18446744073709551616, 18446744073709551616)::text as digest
    from ingest_stage staged
    join ${touchedDays(days)}
      on touched.tenant = staged.tenant and touched.store = staged.store
      and touched.day = (staged.occurred_at at time zone 'UTC')::date
    order by staged.ordinal`);
}

export async function removeFromStage(
  connection: Connection,
  ordinals: readonly number[],
): Promise<void> {
  await connection.query(sql`delete from ingest_stage where ordinal = any(${ordinals}::integer[])`);
}

/** Where in a segment of the catalogue the cold records of a day stand. */
export type ColdPlace = ColdDay & {
  segment_id: string;
  object_key: string;
  size_bytes: number;
  sha256: Buffer;
  first_row: number;
  count: number;
};

/** Reads counters and catalogue in one statement, so that both show the same moment. */
export async function listColdPlaces(
  db: Queryable,
  days: readonly ColdDay[],
): Promise<ColdPlace[]> {
  return db.query(sql`
    select kept.tenant, kept.store, kept.day::text as day, kept.cold_count,
      kept.cold_digest::text as cold_digest, place.segment_id, segment.object_key, segment.size_bytes,
      segment.sha256, place.first_row, place.count
    from ${touchedDays(days)}
    join leaf_days kept
      on kept.tenant = touched.tenant and kept.store = touched.store and kept.day = touched.day
    join segment_days place
      on place.tenant = kept.tenant and place.store = kept.store and place.day = kept.day
    join segments segment on segment.tenant = place.tenant and segment.id = place.segment_id
    order by place.tenant, place.segment_id, place.first_row`);
}

/**
 * Returns whether the catalogue holds the segment now: one that was replaced is gone from it before its object is
 * removed.
 */
export async function isLiveSegment(
  db: Queryable,
  tenant: string,
  segmentId: string,
): Promise<boolean> {
  const rows = await db.query(
    sql`select 1 as one from segments where tenant = ${tenant} and id = ${segmentId}`,
  );
  return rows.length > 0;
}

function touchedDays(days: readonly ColdDay[]): Sql {
  return sql`unnest(${days.map((day) => day.tenant)}::text[], ${days.map((day) => day.store)}::text[],
    ${days.map((day) => day.day)}::date[]) as touched(tenant, store, day)`;
}

export type CounterDelta = Omit<Delta, 'day'> & { day?: string; month?: string };

/** Adds to the counters of days and returns those that have cold records. They stay locked until the commit. */
export async function addToDays(
  connection: Connection,
  deltas: readonly Delta[],
): Promise<ColdDay[]> {
  return connection.query(sql`
    with counted as (
      ${additionTo('leaf_days', deltas)} returning tenant, store, day, cold_count, cold_digest
    )
    select tenant, store, day::text as day, cold_count, cold_digest::text as cold_digest
    from counted where cold_count > 0`);
}

/** Adds to the counters of one table above the days. */
export async function addToCounters(
  connection: Connection,
  table: Exclude<CounterTable, 'leaf_days'>,
  deltas: readonly CounterDelta[],
): Promise<void> {
  await connection.query(additionTo(table, deltas));
}

/** Adds in the order of the keys. Without that order, 8 writers deadlocked at once. */
function additionTo(table: CounterTable, deltas: readonly CounterDelta[]): Sql {
  const key = counterKeys[table];
  const keyList = raw(key.join(', '));
  const parts = key.map((column) => sql`${deltas.map((delta) => delta[column])}::text[]`);
  return sql`
    insert into ${raw(table)} as counter (${keyList}, count, bytes, digest, first_at, last_at)
    select ${raw(key.map((column) => (column === 'day' ? 'day::date' : column)).join(', '))},
      count, bytes, digest, first_at, last_at
    from unnest(${join(parts)}, ${deltas.map((delta) => delta.count)}::bigint[],
      ${deltas.map((delta) => delta.bytes)}::bigint[], ${deltas.map((delta) => delta.digest)}::numeric[],
      ${deltas.map((delta) => delta.first_at)}::timestamptz[],
      ${deltas.map((delta) => delta.last_at)}::timestamptz[]
    ) as delta(${keyList}, count, bytes, digest, first_at, last_at)
    order by ${raw(key.map((column) => `${column} collate "C"`).join(', '))}
    on conflict (${keyList}) do update set
      count = counter.count + excluded.count,
      bytes = counter.bytes + excluded.bytes,
      digest = mod(counter.digest + excluded.digest, 18446744073709551616),
      first_at = least(counter.first_at, excluded.first_at),
      last_at = greatest(counter.last_at, excluded.last_at)`;
}

export async function listPartitions(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(sql`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass`);
  return rows.map((row) => row.name);
}

/** Makes sure that one process at a time makes partitions, until the end of the transaction. */
export async function lockPartitions(connection: Connection): Promise<void> {
  await connection.query(sql`select pg_advisory_xact_lock(${advisoryLocks.partitions})`);
}

/**
 * Makes the partition of a month and attaches it with ATTACH. CREATE TABLE … PARTITION OF would wait for any reader of
 * the table that has stalled, and would block every writer meanwhile. The constraint saves ATTACH from scanning.
 */
export async function attachPartition(
  connection: Connection,
  name: string,
  from: string,
  until: string,
): Promise<void> {
  const { client } = connection;
  await client.query(`set local lock_timeout = '2s'`);
  await client.query(`create table ${name} (like enrichment_records including all)`);
  await client.query(
    `alter table ${name} add constraint ${name}_range check (occurred_at >= '${from}' and occurred_at < '${until}')`,
  );
  await client.query(
    `alter table enrichment_records attach partition ${name} for values from ('${from}') to ('${until}')`,
  );
  await client.query(`alter table ${name} drop constraint ${name}_range`);
}
