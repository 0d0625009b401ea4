import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import sql, { raw, type Sql } from 'sql-template-tag';
import type { TokenCheck } from '../../kernel/actor.ts';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { givenRows, unseen } from '../../platform/postgres/sql-text.ts';
import { tokensStand } from '../../platform/postgres/token-check.ts';
import { type CounterTable, counterKeys, digestSum } from '../segments/queries.ts';
import { lockPins, timeWithPinsLocked } from '../versions/pin-queries.ts';
import type { Part, PartRow } from './part.ts';

/** No more rows than these are stored by a statement that is planned once for any number of rows. */
export const fewRows = 500;

const columns =
  'tenant, store, occurred_at, event_id, kind, source, model, confidence, bytes, digest, enrichment';

/** The SQLSTATE by which statements undo themselves when records came or went meanwhile; see `refuse` in migrations. */
export const changedMeanwhile = 'SV001';

/**
 * Copies rows that are hoped to be new, in half the time of `storeNew`, and counts them. Throws 23505 when one is
 * stored, `changedMeanwhile`, and 55P03 after `lockMillis`. Returns days with unchecked cold records; then nothing is stored.
 */
export async function copyNew(
  connection: Connection,
  { part, ordinals, checked, lockMillis }: RowsToStore & { lockMillis: number },
): Promise<ColdDay[]> {
  const { limit, ofTenants } = lockLimit(part, lockMillis);
  await connection.query(sql`with ${ofTenants} select ${limit}, tenants from limited`);
  const days = sumDays(part, ordinals);
  const touched = sql`
    select tenant collate "C" as tenant, store collate "C" as store, day, count, bytes, digest, first_at, last_at,
      spans::tstzmultirange as spans
    from ${givenRows('sums', days, {
      tenant: 'text',
      store: 'text',
      day: 'date',
      count: 'bigint',
      bytes: 'bigint',
      digest: 'numeric',
      firstAt: 'timestamptz',
      lastAt: 'timestamptz',
      spans: 'text',
    })}`;
  const [seen] = await connection.query<{ days: ColdDay[] | null }>(sql`
    select ${daysAsJson} as days from (${touched}) touched join leaf_days kept using (tenant, store, day)
    where ${isUnchecked(checked)}`);
  if (seen?.days) return seen.days;
  const recordedAtMicros = await lockPins(connection, part.tenants());
  const recordedAt = sql`timestamptz 'epoch' + ${recordedAtMicros}::bigint * interval '1 microsecond'`;
  const copy = connection.client.query(
    copyFrom(`copy enrichment_records (${columns}, recorded_at) from stdin (format binary)`),
  );
  // The listener stays after the pipeline has ended, because an error that nobody listens for ends the process.
  copy.on('error', () => {});
  const rows = Readable.from(part.copyRows(ordinals, recordedAtMicros), { highWaterMark: 4 });
  await pipeline(rows, copy);
  await connection.query(sql`
    with added_days as materialized (
      select touched.*, ${recordedAt} as recorded_at from (${touched}) touched
    ), ${countAdded({ areSeveral: true })}
    select refuse(${changedMeanwhile}) from counted_days kept where ${isUnchecked(checked)} limit 1`);
  return [];
}

/** Rows of a part that are to be stored. */
export type RowsToStore = {
  part: Part;
  /** Which rows of the part, in the order of `inStoreOrder`: two writers that meet wait instead of deadlocking. */
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
  /** A multirange of their times: those that lie less than a minute apart have one range. */
  spans: string;
};

const minuteMicros = 60_000_000;

/** Sums rows up by day of a store. The ordinals must be in the order of `inStoreOrder`. */
function sumDays(part: Part, ordinals: readonly number[]): DaySums[] {
  const days: DaySums[] = [];
  let last: DaySums | undefined;
  let lastMicros = 0;
  for (const { record, occurredAt, digest } of rowsOf(part, ordinals)) {
    const { tenant, store, bytes, occurredAtMicros } = record;
    const day = occurredAt.slice(0, 10);
    if (last?.day === day && last.store === store && last.tenant === tenant) {
      last.count += 1;
      last.bytes += bytes;
      last.digest += digest;
      if (occurredAtMicros - lastMicros > minuteMicros) {
        last.spans += `${last.lastAt}],[${occurredAt},`;
      }
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
        spans: `{[${occurredAt},`,
      };
      days.push(last);
    }
    lastMicros = occurredAtMicros;
  }
  for (const sums of days) {
    sums.digest = BigInt.asUintN(64, sums.digest);
    sums.spans += `${sums.lastAt}]}`;
  }
  return days;
}

function rowsOf(part: Part, ordinals: readonly number[]): PartRow[] {
  return ordinals.map((ordinal) => part.rows[ordinal] as PartRow);
}

/** What became of rows that were to be stored. */
export type Stored = {
  /** The ordinals of those that were stored before with the same content; null when there are none. */
  duplicates: number[] | null;
  /** The ordinals of those that are stored with other content; null when there are none. */
  conflicts: number[] | null;
  /** The days with cold records against which the part was not checked. If there are any, nothing is stored. */
  cold_days: ColdDay[] | null;
};

/**
 * Stores and counts rows whose identity is free, and compares the others, in one statement: a round trip takes as long
 * as ten rows. Throws `changedMeanwhile`, 55P03 after `lockMillis`. One `recorded_at` for all: `lockPins`.
 */
export async function storeNew(
  db: Queryable,
  {
    part,
    ordinals,
    checked,
    lockMillis,
    checks = [],
  }: RowsToStore & { lockMillis: number; checks?: readonly (TokenCheck | undefined)[] },
): Promise<Stored> {
  const content = (of: string) =>
    raw(
      `(${of}.digest, ${of}.kind, ${of}.source, ${of}.model, ${of}.confidence, ${of}.enrichment::text)`,
    );
  const { limit, ofTenants } = lockLimit(part, lockMillis);
  const [stored] = await db.query<Stored>(
    sql`
    with ${ofTenants}, given as materialized (
      select given.* from (${sentRows(part, ordinals)}) given
      where ${limit} is not null and (select tenants from limited) >= 0 and ${tokensStand(checks)}
    ), ${coldDaysOfGiven(checked)}, sent as materialized (
      select * from given where (select days from cold_days) is null
    ), added as (
      insert into enrichment_records (${raw(columns)}, recorded_at)
      select ${raw(columns)}, ${timeWithPinsLocked(part.tenants())} from sent order by place
      on conflict do nothing
      returning tenant, store, occurred_at, event_id, bytes, digest, recorded_at
    ), added_days as materialized (
      select tenant, store, (occurred_at at time zone 'UTC')::date as day, count(*) as count,
        sum(bytes) as bytes, ${digestSum} as digest, min(occurred_at) as first_at,
        max(occurred_at) as last_at, min(recorded_at) as recorded_at,
        range_agg(tstzrange(occurred_at, occurred_at + interval '1 minute')) as spans
      from added group by 1, 2, 3
    ), ${countAdded({ areSeveral: true })}, firsts as (
      select distinct on (tenant, store, occurred_at, event_id) sent.*
      from added join sent using (occurred_at, event_id, store, tenant)
      order by tenant, store, occurred_at, event_id, place
    ), taken as materialized (
      select sent.*, first.place is null as is_stored, ${content('first')} is not distinct from ${content('sent')} as is_same
      from sent left join firsts first using (occurred_at, event_id, store, tenant)
      where (select count(*) from added) < ${ordinals.length} and sent.place is distinct from first.place
    ), compared as materialized (
      select ordinal, is_same from taken where not is_stored
      union all
      ${comparedWithStored('taken where is_stored')}
    )
    select days as cold_days,
      case when exists (select 1 from counted_days kept where ${isUnchecked(checked)})
        or exists (select 1 from compared where is_same is null) then refuse(${changedMeanwhile}) end,
      ${raw(ordinalsOfCompared)},
      -- A duplicate is acknowledged as well, and its first commit may still wait for a standby.
      case when current_setting('synchronous_standby_names') <> '' and (select count(*) from added) < ${part.count}
        then pg_logical_emit_message(true, 'svcctl', '') end
    from cold_days`,
    // A plan for any number of rows compares each with each, which many rows can't afford.
    { isPlannedAnew: ordinals.length > fewRows },
  );
  if (stored === undefined) throw new Error('the statement that stores records answered nothing');
  return stored;
}

/** SQL that sets for a transaction how long it waits for a lock: here, and where its tenants are, as workers wait themselves. */
function lockLimit(part: Part, lockMillis: number): { limit: Sql; ofTenants: Sql } {
  const limit = sql`set_config('lock_timeout', ${`${lockMillis}ms`}, true)`;
  const ofTenants = sql`limited as materialized (
      select count(${limit}) as tenants from leaf_tenants where tenant = any(${part.tenants()}::text[]))`;
  return { limit, ofTenants };
}

/** Tells what is stored of the rows, and which days have cold records, at one moment. It changes and locks nothing. */
export async function findStored(db: Queryable, part: Part): Promise<Stored> {
  const [found] = await db.query<Stored>(
    sql`
    with given as materialized (${sentRows(part, [...part.rows.keys()])}), ${coldDaysOfGiven([])},
      compared as materialized (${comparedWithStored('given')})
    select days as cold_days, ${raw(ordinalsOfCompared)} from cold_days`,
    { isPlannedAnew: part.count > fewRows },
  );
  if (found === undefined) throw new Error('the statement that looks for records answered nothing');
  return found;
}

/** SQL of the relation `cold_days`: one row, with the days of `given` that have cold records which were not checked. */
function coldDaysOfGiven(checked: readonly ColdDay[]): Sql {
  return sql`cold_days as materialized (
      select ${daysAsJson} as days from (
        select distinct tenant, store, (occurred_at at time zone 'UTC')::date as day from given
      ) touched join leaf_days kept using (tenant, store, day)
      where ${isUnchecked(checked)}
    )`;
}

/** SQL that compares rows with those that are stored: ordinal and is_same, which is null where none is stored. */
function comparedWithStored(rows: string): Sql {
  return sql`select compared.ordinal, compared.is_same from (
        select array_agg(ordinal) as ordinals, array_agg(tenant) as tenants, array_agg(store) as stores,
          array_agg(occurred_at) as times, array_agg(event_id) as event_ids, array_agg(digest) as digests,
          array_agg(kind) as kinds, array_agg(source) as sources, array_agg(model) as models,
          array_agg(confidence) as confidences, array_agg(enrichment::text) as enrichments
        from ${raw(rows)} having count(*) > 0
      ) other cross join lateral compare_stored(ordinals, tenants, stores, times, event_ids, digests,
        kinds, sources, models, confidences, enrichments) compared`;
}

const ordinalsOfCompared = `(select array_agg(ordinal) from compared where is_same) as duplicates,
      (select array_agg(ordinal) from compared where not is_same) as conflicts`;

/**
 * Stores and counts the only row of a part, or returns false if it is there or its day has cold records. It takes two
 * thirds of the time of `storeNew`, whose steps are set up all the same. Throws what that throws.
 */
export async function storeOne(
  db: Queryable,
  { record, occurredAt, digest }: PartRow,
  lockMillis: number,
  check?: TokenCheck,
): Promise<boolean> {
  const { tenant, store, eventId, kind, source, model, confidence, bytes, enrichment } = record;
  const [stored] = await db.query<{ count: number }>(sql`
    with sent as materialized (
      select ${tenant}::text collate "C" as tenant, ${store}::text collate "C" as store,
        ${occurredAt}::timestamptz as occurred_at, ${eventId}::text collate "C" as event_id, ${kind}::text as kind,
        ${source}::text as source, ${model}::text as model, ${confidence}::text as confidence,
        ${bytes}::integer as bytes, ${digest}::bigint as digest, ${enrichment}::json as enrichment
      where set_config('lock_timeout', ${`${lockMillis}ms`}, true) is not null and ${tokensStand([check])} and not exists (
        select 1 from leaf_days where tenant = ${tenant} and store = ${store} and day = ${occurredAt.slice(0, 10)}::date
          and cold_count > 0)
    ), added as (
      insert into enrichment_records (${raw(columns)}, recorded_at)
      select ${raw(columns)}, ${timeWithPinsLocked([tenant])} from sent
      on conflict do nothing
      returning tenant, store, occurred_at, bytes, digest, recorded_at
    ), added_days as materialized (
      select tenant, store, (occurred_at at time zone 'UTC')::date as day, 1 as count, bytes,
        mod(digest + 18446744073709551616, 18446744073709551616) as digest, occurred_at as first_at,
        occurred_at as last_at, recorded_at,
        null::tstzmultirange as spans
      from added
    ), ${countAdded({ areSeveral: false })}
    select count(*) as count, case when exists (select 1 from counted_days where cold_count > 0)
      then refuse(${changedMeanwhile}) end from added`);
  return stored?.count === 1;
}

/** The rows as a relation of their own, with their ordinals and their places in the order given. */
function sentRows(part: Part, ordinals: readonly number[]): Sql {
  const rows = rowsOf(part, ordinals);
  const given =
    ordinals.length > fewRows ? sql`${ordinals}::integer[]` : unseen(ordinals, 'integer');
  const texts = (field: (row: PartRow) => string | null) => sql`${rows.map(field)}::text[]`;
  return sql`
    select place, ordinal, tenant collate "C" as tenant, store collate "C" as store, occurred_at,
      event_id collate "C" as event_id, kind, source, model, confidence, bytes, digest,
      enrichment::json as enrichment
    from unnest(${given}, ${texts(({ record }) => record.tenant)},
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
 * SQL that counts `added_days`, table by table and row by row in the order of keys: writers share these counters and
 * hold them until the commit, and in another order eight of them deadlocked. One day alone is not summed up.
 */
function countAdded({ areSeveral }: { areSeveral: boolean }): Sql {
  const above = (table: CounterTable, before: string) =>
    additionTo(table, addedTo(table, before, areSeveral));
  return sql`
    counted_days as (${additionTo('leaf_days', sql`added_days`)}
      returning tenant, store, day, cold_count, cold_digest),
    counted_months as (${above('leaf_months', 'counted_days')} returning 1),
    counted_stores as (${above('leaf_stores', 'counted_months')} returning 1),
    counted_tenant_days as (${above('tenant_days', 'counted_stores')} returning 1),
    counted_tenant_months as (${above('tenant_months', 'counted_tenant_days')} returning 1),
    counted_tenants as (${above('leaf_tenants', 'counted_tenant_months')} returning tenant, stored_at),
    counted_hours as (${additionToHours(areSeveral)}),
    noted_parts as (
      insert into stored_parts (tenant, stored_at, store, day, recorded_at, first_at, last_at, count, spans)
      select tenant, stored_at, store, day, recorded_at, first_at, last_at, count, spans
      from added_days join counted_tenants using (tenant)
    )`;
}

/** SQL that adds `added_days` to the present hour of their tenants, once these are counted. */
function additionToHours(areSeveral: boolean): Sql {
  const sums = raw(areSeveral ? 'sum(count), sum(bytes)' : 'count, bytes');
  const grouped = raw(areSeveral ? 'group by tenant order by tenant' : '');
  return sql`
    insert into stored_hours as counter (tenant, hour, count, bytes)
    select tenant, date_trunc('hour', now(), 'UTC'), ${sums} from added_days
    where (select count(*) from counted_tenants) >= 0 ${grouped}
    on conflict (tenant, hour) do update set
      count = counter.count + excluded.count, bytes = counter.bytes + excluded.bytes`;
}

/** Days of stores, such as those of `leaf_days`, as JSON; null when there are none. */
const daysAsJson = sql`json_agg(json_build_object('tenant', tenant, 'store', store, 'day', day,
  'cold_count', cold_count, 'cold_digest', cold_digest::text))`;

/** Whether a day's counters `kept` have other cold records than those of a check; they stay locked until the commit. */
function isUnchecked(checked: readonly ColdDay[]): Sql {
  return sql`kept.cold_count > 0 and (kept.tenant, kept.store, kept.day, kept.cold_count, kept.cold_digest) not in (
    select * from ${givenRows('checked', checked, {
      tenant: 'text',
      store: 'text',
      day: 'date',
      cold_count: 'bigint',
      cold_digest: 'numeric',
    })})`;
}

/**
 * `added_days` by the key of a table above the days, summed up if there are several, once the table before it is done.
 */
function addedTo(table: CounterTable, before: string, areSeveral: boolean): Sql {
  const key = counterKeys[table].map((column) =>
    column === 'month' ? `to_char(day, 'YYYY-MM') collate "C" as month` : column,
  );
  const sums = areSeveral
    ? sql`sum(count) as count, sum(bytes) as bytes, ${digestSum} as digest,
        min(first_at) as first_at, max(last_at) as last_at`
    : sql`count, bytes, digest, first_at, last_at`;
  const grouped = areSeveral ? `group by ${key.map((_, index) => index + 1).join(', ')}` : '';
  return sql`(select ${raw(key.join(', '))}, ${sums} from added_days
    where (select count(*) from ${raw(before)}) >= 0 ${raw(grouped)}) added`;
}

/** A tenant's row has the time of its last part: under its lock, so that these times have the order of commits. */
function additionTo(table: CounterTable, added: Sql): Sql {
  const key = raw(counterKeys[table].join(', '));
  const isTenants = table === 'leaf_tenants';
  return sql`
    insert into ${raw(table)} as counter (${key}, count, bytes, digest, first_at, last_at${raw(isTenants ? ', stored_at' : '')})
    select ${key}, count, bytes, digest, first_at, last_at${raw(isTenants ? ', clock_timestamp()' : '')}
    from ${added} order by ${key}
    on conflict (${key}) do update set
      count = counter.count + excluded.count,
      bytes = counter.bytes + excluded.bytes,
      digest = mod(counter.digest + excluded.digest, 18446744073709551616),
      first_at = least(counter.first_at, excluded.first_at),
      last_at = greatest(counter.last_at, excluded.last_at)${raw(isTenants ? nextTime : '')}`;
}

const nextTime = `,
      stored_at = greatest(next_instant(counter.stored_at), excluded.stored_at)`;

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

/**
 * Lists the partitions that every session inserts into. Another process's new one is seen in the catalogue a moment
 * before other sessions are told that what they know of the table is old, and an insert would find no partition then.
 * The lock is free only after that moment.
 */
export async function listPartitions(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(sql`
    with made as materialized (select pg_advisory_xact_lock_shared(${advisoryLocks.partitions}))
    select relname as name from made cross join pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass`);
  return rows.map((row) => row.name);
}

/** Makes sure that one process at a time makes partitions, until the end of the transaction. */
export async function lockPartitions(connection: Connection): Promise<void> {
  await connection.query(sql`select pg_advisory_xact_lock(${advisoryLocks.partitions})`);
}

/**
 * Attaches partitions in one round trip. CREATE TABLE … PARTITION OF would wait for stalled readers and block writers;
 * the constraint saves a scan; Citus hands the whole text on to workers, which take one statement.
 */
export async function attachPartitions(
  connection: Connection,
  partitions: readonly { readonly name: string; readonly from: string; readonly until: string }[],
): Promise<void> {
  const statements = partitions.flatMap(({ name, from, until }) => [
    `create table ${name} (like enrichment_records including all)`,
    `alter table ${name} add constraint ${name}_range check (occurred_at >= '${from}' and occurred_at < '${until}')`,
    `alter table enrichment_records attach partition ${name} for values from ('${from}') to ('${until}')`,
    `alter table ${name} drop constraint ${name}_range`,
  ]);
  const block = [`set local lock_timeout = '2s'`, ...statements].join('; ');
  await connection.client.query(`do $$ begin ${block}; end $$`);
}
