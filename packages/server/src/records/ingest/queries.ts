import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import sql, { join, raw, type Sql } from 'sql-template-tag';
import {
  type Connection,
  databaseError,
  type Queryable,
} from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { type CounterTable, counterKeys } from '../segments/queries.ts';
import { lockPins, timeWithPinsLocked } from '../versions/pin-queries.ts';
import type { Part, PartRow } from './part.ts';

/** No more rows than these are stored by a statement that is planned once for any number of rows. */
export const fewRows = 500;

const columns =
  'tenant, store, occurred_at, event_id, kind, source, model, confidence, bytes, digest, enrichment';

/** SQLSTATEs by which the statements here undo what they did. The function `refuse` in the migrations raises them. */
export const refusals = {
  /** Days have cold records against which the part was not checked. The error's detail has them, as JSON. */
  coldDays: 'SV001',
  /** A record whose identity was taken came or went while the statement ran. */
  moved: 'SV002',
} as const;

/** Returns the days that an error with `refusals.coldDays` names. */
export function coldDaysOf(error: unknown): ColdDay[] {
  return JSON.parse(databaseError(error)?.detail ?? '[]');
}

/**
 * Copies rows straight into the table, all of which are hoped to be new, and counts them. That takes half the time of
 * `storeNew`. Throws 23505 when one of them is stored already, and `refusals.coldDays`. The rows go in the order of the
 * keys, as every other writer's do: two that meet wait for each other instead of deadlocking.
 */
export async function copyNew(
  connection: Connection,
  { part, ordinals, checked }: RowsToStore,
): Promise<void> {
  const recordedAt = await lockPins(connection, part.tenants());
  const copy = connection.client.query(
    copyFrom(`copy enrichment_records (${columns}, recorded_at) from stdin`),
  );
  // The listener stays after the pipeline has ended, because an error that nobody listens for ends the process.
  copy.on('error', () => {});
  const text = Readable.from(part.copyText(ordinals, recordedAt), { highWaterMark: 4 });
  await pipeline(text, copy);
  const days = sumDays(part, ordinals);
  await connection.query(sql`
    with added_days as materialized (
      select tenant collate "C" as tenant, store collate "C" as store, day, count, bytes, digest, first_at, last_at
      from unnest(${days.map((day) => day.tenant)}::text[], ${days.map((day) => day.store)}::text[],
        ${days.map((day) => day.day)}::date[], ${days.map((day) => day.count)}::bigint[],
        ${days.map((day) => day.bytes)}::bigint[], ${days.map((day) => day.digest)}::numeric[],
        ${days.map((day) => day.firstAt)}::timestamptz[], ${days.map((day) => day.lastAt)}::timestamptz[]
      ) as sums(tenant, store, day, count, bytes, digest, first_at, last_at)
    ), ${countAdded}, ${coldDaysExcept(checked)}
    select case when days is not null then refuse(${refusals.coldDays}, days::text) end from cold_days`);
}

/** Rows of a part that are to be stored. */
export type RowsToStore = {
  part: Part;
  /** Which rows of the part, in the order of the keys. */
  ordinals: readonly number[];
  /** The days with cold records against which the part was checked. */
  checked: readonly ColdDay[];
};

/** What a part adds to a day of a store. */
type DaySums = {
  tenant: string;
  store: string;
  day: string;
  count: number;
  bytes: number;
  digest: bigint;
  firstAt: string;
  lastAt: string;
};

/** Sums rows up by day of a store. The ordinals must be in the order of the keys. */
function sumDays(part: Part, ordinals: readonly number[]): DaySums[] {
  const days: DaySums[] = [];
  let last: DaySums | undefined;
  for (const { record, occurredAt, digest } of rowsOf(part, ordinals)) {
    const { tenant, store, bytes } = record;
    const day = occurredAt.slice(0, 10);
    if (last?.day === day && last.store === store && last.tenant === tenant) {
      last.count += 1;
      last.bytes += bytes;
      last.digest += digest;
      last.lastAt = occurredAt;
    } else {
      last = {
        tenant,
        store,
        day,
        count: 1,
        bytes,
        digest,
        firstAt: occurredAt,
        lastAt: occurredAt,
      };
      days.push(last);
    }
  }
  for (const sums of days) sums.digest = BigInt.asUintN(64, sums.digest);
  return days;
}

function rowsOf(part: Part, ordinals: readonly number[]): PartRow[] {
  return ordinals.map((ordinal) => part.rows[ordinal] as PartRow);
}

/** The rows whose identity is taken. */
export type Taken = {
  /** The ordinals of those that are stored with the same content; null when there are none. */
  duplicates: number[] | null;
  /** The ordinals of those that are stored with other content; null when there are none. */
  conflicts: number[] | null;
};

/**
 * Stores and counts those of the rows whose identity is free, and compares the others with what is stored. It is one
 * statement and one transaction: a round trip takes as long as storing ten rows. Throws `refusals`, and 55P03 when it
 * waits longer than `lockMillis` for another transaction. All rows get one `recorded_at`; `lockPins` explains why.
 */
export async function storeNew(
  db: Queryable,
  { part, ordinals, checked, lockMillis }: RowsToStore & { lockMillis: number },
): Promise<Taken> {
  const content = (of: string) =>
    raw(
      `(${of}.digest, ${of}.kind, ${of}.source, ${of}.model, ${of}.confidence, ${of}.enrichment::text)`,
    );
  const [taken] = await db.query<Taken>(
    sql`
    with sent as materialized (
      select sent.* from (${sentRows(part, ordinals)}) sent
      where set_config('lock_timeout', ${`${lockMillis}ms`}, true) is not null
    ),
    added as (
      insert into enrichment_records (${raw(columns)}, recorded_at)
      select ${raw(columns)}, ${timeWithPinsLocked(part.tenants())} from sent order by place
      on conflict do nothing
      returning tenant, store, occurred_at, event_id, bytes, digest
    ),
    added_days as materialized (
      select tenant, store, (occurred_at at time zone 'UTC')::date as day, count(*) as count,
        sum(bytes) as bytes, ${sumModulo('digest')} as digest, min(occurred_at) as first_at,
        max(occurred_at) as last_at
      from added group by 1, 2, 3
    ), ${countAdded}, ${coldDaysExcept(checked)},
    firsts as (
      select distinct on (tenant, store, occurred_at, event_id) sent.*
      from added join sent using (occurred_at, event_id, store, tenant)
      order by tenant, store, occurred_at, event_id, place
    ),
    taken as materialized (
      select sent.ordinal, case
        when first.place is not null then ${content('first')} is not distinct from ${content('sent')}
        when stored.event_id is not null then ${content('stored')} is not distinct from ${content('sent')}
        end as is_same
      from sent
      left join firsts first using (occurred_at, event_id, store, tenant)
      left join lateral (
        select * from enrichment_records stored
        where first.place is null and stored.tenant = sent.tenant and stored.store = sent.store
          and stored.occurred_at = sent.occurred_at and stored.event_id = sent.event_id
        limit 1
      ) stored on true
      where (select count(*) from added) < ${ordinals.length} and sent.place is distinct from first.place
    )
    select case when days is not null then refuse(${refusals.coldDays}, days::text)
        when exists (select from taken where is_same is null) then refuse(${refusals.moved}, '') end,
      (select array_agg(ordinal) from taken where is_same) as duplicates,
      (select array_agg(ordinal) from taken where not is_same) as conflicts
    from cold_days`,
    // A plan for any number of rows compares each with each, which many rows can't afford.
    { isPlannedAnew: ordinals.length > fewRows },
  );
  return taken ?? { duplicates: null, conflicts: null };
}

/** The rows as a relation of their own, with their ordinals and their places in the order given. */
function sentRows(part: Part, ordinals: readonly number[]): Sql {
  const rows = rowsOf(part, ordinals);
  const texts = (field: (row: PartRow) => string | null) => sql`${rows.map(field)}::text[]`;
  return sql`
    select place, ordinal, tenant collate "C" as tenant, store collate "C" as store, occurred_at,
      event_id collate "C" as event_id, kind, source, model, confidence, bytes, digest,
      enrichment::json as enrichment
    from unnest(${ordinals}::integer[], ${texts(({ record }) => record.tenant)},
      ${texts(({ record }) => record.store)},
      ${rows.map(({ occurredAt }) => occurredAt)}::timestamptz[],
      ${texts(({ record }) => record.eventId)}, ${texts(({ record }) => record.kind)},
      ${texts(({ record }) => record.source)}, ${texts(({ record }) => record.model)},
      ${texts(({ record }) => record.confidence)},
      ${rows.map(({ record }) => record.bytes)}::integer[],
      ${rows.map(({ digest }) => digest)}::bigint[], ${texts(({ record }) => record.enrichment)}
    ) with ordinality as sent(ordinal, tenant, store, occurred_at, event_id, kind, source, model,
      confidence, bytes, digest, enrichment, place)`;
}

/**
 * SQL that adds the relation `added_days` to the counters of days, and then to those above, which all writers share:
 * they are locked last and until the commit. Each table waits for the one before it, because PostgreSQL promises no
 * order of its own, and each row for the one before it in the order of the keys: without that order, 8 writers
 * deadlocked at once.
 */
const countAdded = join([
  sql`counted_days as (${additionTo('leaf_days', sql`added_days`)}
    returning tenant, store, day, cold_count, cold_digest)`,
  sql`counted_months as (${additionTo('leaf_months', addedTo('leaf_months', 'counted_days'))} returning 1)`,
  sql`counted_stores as (${additionTo('leaf_stores', addedTo('leaf_stores', 'counted_months'))} returning 1)`,
  sql`counted_tenant_days as (${additionTo('tenant_days', addedTo('tenant_days', 'counted_stores'))} returning 1)`,
  sql`counted_tenants as (${additionTo('leaf_tenants', addedTo('leaf_tenants', 'counted_tenant_days'))} returning 1)`,
]);

/**
 * SQL of a relation `cold_days` with one row: the days with cold records among those that were counted, as JSON, or
 * null. They stay locked until the commit, so no move switches them. Those with just the cold records of a check are
 * left out.
 */
function coldDaysExcept(checked: readonly ColdDay[]): Sql {
  return sql`cold_days as (
    select json_agg(json_build_object('tenant', tenant, 'store', store, 'day', day,
      'cold_count', cold_count, 'cold_digest', cold_digest::text)) as days
    from counted_days
    where cold_count > 0 and (tenant, store, day, cold_count, cold_digest) not in (
      select * from unnest(${checked.map((day) => day.tenant)}::text[],
        ${checked.map((day) => day.store)}::text[], ${checked.map((day) => day.day)}::date[],
        ${checked.map((day) => day.cold_count)}::bigint[], ${checked.map((day) => day.cold_digest)}::numeric[])))`;
}

/** Sums `added_days` up by the key of a table above the days, once the table before it is done. */
function addedTo(table: CounterTable, before: string): Sql {
  const key = counterKeys[table].map((column) =>
    column === 'month' ? `to_char(day, 'YYYY-MM') collate "C" as month` : column,
  );
  return sql`(
    select ${raw(key.join(', '))}, sum(count) as count, sum(bytes) as bytes,
      ${sumModulo('digest')} as digest, min(first_at) as first_at, max(last_at) as last_at
    from added_days where (select count(*) from ${raw(before)}) >= 0
    group by ${raw(key.map((_, index) => index + 1).join(', '))}) added`;
}

/** The sum of digests mod 2^64, also of those that are signed numbers. */
function sumModulo(column: string): Sql {
  return raw(
    `mod(mod(sum(${column}), 18446744073709551616) + 18446744073709551616, 18446744073709551616)`,
  );
}

function additionTo(table: CounterTable, added: Sql): Sql {
  const key = raw(counterKeys[table].join(', '));
  return sql`
    insert into ${raw(table)} as counter (${key}, count, bytes, digest, first_at, last_at)
    select ${key}, count, bytes, digest, first_at, last_at from ${added} order by ${key}
    on conflict (${key}) do update set
      count = counter.count + excluded.count,
      bytes = counter.bytes + excluded.bytes,
      digest = mod(counter.digest + excluded.digest, 18446744073709551616),
      first_at = least(counter.first_at, excluded.first_at),
      last_at = greatest(counter.last_at, excluded.last_at)`;
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
