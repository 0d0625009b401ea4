import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import { onlyRow, type Queryable } from '../platform/postgres/database.ts';
import { holdsText, instantText } from '../platform/postgres/sql-text.ts';
import type { AuditEntry } from './contract.ts';

// The statements of the audit log and its chain.

/** An entry as it is written; `before` and `after` are JSON text. */
type NewAuditRow = {
  /** Null when the act was done on the machine that has the settings of the database. */
  tokenId: string | null;
  tokenName: string;
  action: string;
  target: string | null;
  tenant: string | null;
  tenants: readonly string[] | null;
  requestId: string | null;
  address: string | null;
  userAgent: string | null;
  before: string | null;
  after: string | null;
};

export async function insertAuditEntry(db: Queryable, entry: NewAuditRow): Promise<void> {
  await db.query(sql`
    insert into audit_log (token_id, token_name, action, target, tenant, tenants, request_id, address,
      user_agent, before, after)
    values (${entry.tokenId}, ${entry.tokenName}, ${entry.action}, ${entry.target}, ${entry.tenant},
      ${entry.tenants}, ${entry.requestId}, ${entry.address}, ${entry.userAgent}, ${entry.before}, ${entry.after})`);
}

/** What a pruning did. Places are those of the newest entry that is gone, with its hash: `place:hash`. */
type Pruning = {
  count: number;
  /** The time of the newest entry that went; null when none did. */
  until: string | null;
  pruned_before: string;
  pruned_to: string | null;
};

/**
 * Deletes the oldest entries of the chain that are older than `days`, and notes where the chain begins now. Links whose
 * entries somebody removed stay until an entry after them is as old, so that a verification can name them. What is yet to
 * be sealed stays, too, or to be copied: to the stores `copiedTo`, and to those at which some process has looked in a day.
 */
export async function deleteOldAuditEntries(
  db: Queryable,
  { days, copiedTo, limit }: { days: number; copiedTo: readonly string[]; limit: number },
): Promise<Pruning> {
  const rows = await db.query<Pruning>(sql`
    with outside as (
      select coalesce(min(place), ${Number.MAX_SAFE_INTEGER}) as place from (
        select coalesce(copy.place, 0) as place
        from unnest(${copiedTo}::text[]) own left join audit_copies copy on copy.location = own
        union all select place from audit_copies where ${isLookedAt}
        union all select place from audit_seals) every_way
    ), oldest as (
      select link.place, entry.id is not null and link.place <= (select place from outside)
          and bool_and(entry.at < now() - make_interval(days => ${days})) over (order by link.place) as is_old
      from (select place, entry_id from audit_links order by place limit ${limit}) link
      left join audit_log entry on entry.id = link.entry_id
    ), unlinked as (
      delete from audit_links where place <= (select max(place) from oldest where is_old)
      returning place, entry_id, hash
    ), gone as (
      delete from audit_log where id in (select entry_id from unlinked) returning at
    ), newest as (
      select place, hash from unlinked order by place desc limit 1
    ), noted as (
      update audit_chain set pruned_place = newest.place, pruned_hash = newest.hash from newest
    ) select count(*) as count, ${instantText('max(at)')} as until,
      (select ${chainEnd('pruned_place', 'pruned_hash')} from audit_chain) as pruned_before,
      (select ${chainEnd('place', 'hash')} from newest) as pruned_to
    from gone`);
  return onlyRow(rows);
}

/**
 * Who exported at least so many records within 24 hours, the most first, with the tenant of which most were. A file of a
 * job counts once, however often or in how many pieces it is downloaded or delivered: that is when its records leave.
 */
export async function listLargeExports(
  db: Queryable,
  { reach, rows }: { reach: readonly string[] | null; rows: number },
): Promise<
  { id: string; name: string; rows: number; exports: number; tenant: string; since: string }[]
> {
  return db.query(sql`
    with files as (
      select token_id, tenant, max(token_name) as name, min(at) as at,
        max(coalesce((after ->> 'row_count')::bigint, (after ->> 'rows')::bigint, 0)) as rows
      from audit_log
      where action in ('export.csv', 'export.ndjson', 'export.parquet', 'export.download', 'export.deliver')
        and at >= now() - interval '24 hours' and token_id is not null and tenant is not null
        and (${reach}::text[] is null or tenant = any(${reach}::text[]))
      group by token_id, tenant, coalesce(target, id::text)
    ), sums as (
      select token_id, tenant, max(name) as name, min(at) as at, sum(rows) as rows, count(*) as exports
      from files group by token_id, tenant
    ) select token_id as id, max(name) as name, sum(rows)::bigint as rows, sum(exports)::bigint as exports,
      (array_agg(tenant order by rows desc))[1] as tenant, ${instantText('min(at)')} as since
    from sums group by token_id having sum(rows) >= ${rows} order by 3 desc, token_id limit 20`);
}

/** A store at which no process has looked for so long is forgotten: the setting was changed. */
export const isLookedAt = sql`coalesce(leased_until, copied_at, '-infinity') >= now() - interval '24 hours'`;

/** A place and its hash, as text. */
function chainEnd(place: string, hash: string): Sql {
  return raw(`${place} || ':' || encode(${hash}, 'hex')`);
}

/** The newest place of the chain and its hash, `place:hash`: whoever notes it elsewhere can prove the log later. */
export async function readAuditHead(db: Queryable): Promise<string> {
  const { last_place, last_hash } = await readAuditChain(db);
  return `${last_place}:${last_hash}`;
}

/** Both ends of the chain of the audit log; hashes are hex. */
export type AuditChain = {
  last_place: number;
  last_hash: string;
  pruned_place: number;
  pruned_hash: string;
};

export async function readAuditChain(db: Queryable): Promise<AuditChain> {
  const rows = await db.query<AuditChain>(sql`
    select last_place, encode(last_hash, 'hex') as last_hash, pruned_place,
      encode(pruned_hash, 'hex') as pruned_hash
    from audit_chain`);
  return onlyRow(rows);
}

type AuditLink = {
  place: number;
  entry_id: string;
  hash: string;
  /** Whether the entry itself is gone. */
  is_gone: boolean;
  /** Whether the hash is that of the entry after the one before it. */
  is_right: boolean;
  /** What an entry of a pruning tells, `place:hash`; null in other entries, and in those of the release before. */
  is_pruning: boolean;
  pruned_before: string | null;
  pruned_to: string | null;
};

/** Returns links after a place, in their order, each compared with its entry and with the link before it. */
export async function listAuditLinks(
  db: Queryable,
  { after, limit }: { after: number; limit: number },
): Promise<AuditLink[]> {
  return db.query<AuditLink>(sql`
    select link.place, link.entry_id::text as entry_id, encode(link.hash, 'hex') as hash,
      entry.id is null as is_gone,
      coalesce(link.hash = sha256(coalesce(before.hash, chain.pruned_hash)
        || convert_to(audit_text(entry), 'UTF8')), false) as is_right,
      coalesce(entry.action = 'audit.prune', false) as is_pruning,
      entry.before ->> 'pruned_to' as pruned_before, entry.after ->> 'pruned_to' as pruned_to
    from (select * from audit_links where place > ${after} order by place limit ${limit}) link
    cross join audit_chain chain
    left join audit_links before on before.place = link.place - 1
    left join audit_log entry on entry.id = link.entry_id
    order by link.place`);
}

/** Returns entries that are not in the chain, by their ids. */
export async function listUnlinkedEntries(db: Queryable, limit: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select id::text as id from audit_log entry
    where not exists (select from audit_links link where link.entry_id = entry.id)
    order by entry.id limit ${limit}`);
  return rows.map(({ id }) => id);
}

type AuditFilter = {
  tokenId?: string | undefined;
  /** A whole action, or the beginning of one, which then ends with a dot. */
  action?: string | undefined;
  tenant?: string | undefined;
  /** Only entries that hold this text, in any case. */
  text?: string | undefined;
  /** Days of UTC, both inclusive. */
  from?: string | undefined;
  to?: string | undefined;
  /** Only entries that concern these tenants; null means all entries. */
  reach: readonly string[] | null;
};

/** Returns the entries that are older than `after` (time and id of the last entry seen), the newest first. */
export async function listAuditEntries(
  db: Queryable,
  filter: AuditFilter,
  page: { after: EntryKey | null; until: EntryKey | null; limit: number },
): Promise<AuditEntry[]> {
  return db.query<AuditEntry>(
    sql`
    select ${auditColumns}
    from ${newestOf(filter, page)} newest join audit_log on audit_log.id = newest.id
      left join audit_links link on link.entry_id = audit_log.id
    order by ${newestFirst} limit ${page.limit}`,
    // How many entries a tenant has says which index finds the newest of them soonest.
    { isPlannedAnew: true },
  );
}

/** The time and the number of an entry. */
type EntryKey = readonly [at: string, id: string];

const newestFirst = raw('audit_log.at desc, audit_log.id desc');

/** So many entries are searched for a text at once. */
const mostSearched = 10_000;

/** The last of the entries that a page may search for a text; null where it may search all that are left. */
export async function findSearchEnd(
  db: Queryable,
  { text: _text, ...filter }: AuditFilter,
  after: EntryKey | null,
): Promise<EntryKey | null> {
  const [end] = await db.query<{ at: string; id: string }>(
    sql`
    select ${instantText('at')} as at, id::text as id
    from ${newestOf(filter, { after, until: null, limit: mostSearched })} audit_log
    order by ${newestFirst} offset ${mostSearched - 1} limit 1`,
    { isPlannedAnew: true },
  );
  return end === undefined ? null : [end.at, end.id];
}

/** Behind the one key, and up to the other. */
function keysBetween({ after, until }: Record<'after' | 'until', EntryKey | null>): Sql[] {
  const key = ([at, id]: EntryKey) => sql`(${at}::timestamptz, ${id}::bigint)`;
  return [
    ...(after === null ? [] : [sql`(audit_log.at, audit_log.id) < ${key(after)}`]),
    ...(until === null ? [] : [sql`(audit_log.at, audit_log.id) >= ${key(until)}`]),
  ];
}

/**
 * The keys of so many of the newest entries: of those that concern one of some tenants alone, and as many of those that
 * concern several. No index has both, and whoever looked for either read the whole log for a tenant with few.
 */
function newestOf(
  filter: AuditFilter,
  { limit, ...keys }: { after: EntryKey | null; until: EntryKey | null; limit: number },
): Sql {
  const whom = whomOf(filter);
  const others = [...auditConditions(filter), ...keysBetween(keys)];
  const newest = (...own: Sql[]) => sql`(
    select at, id from audit_log ${where([...own, ...others])} order by ${newestFirst} limit ${limit})`;
  if (whom === null) return newest();
  const [first, ...more] = whom;
  // Its own index has the entries of one tenant in their order.
  const isOwn = more.length === 0 ? sql`tenant = ${first ?? null}` : sql`tenant = any(${whom})`;
  const isShared = sql`tenants is not null and tenants && ${whom}::text[]`;
  return sql`(${newest(isOwn)} union all ${newest(isShared)})`;
}

function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? empty : sql`where ${join(conditions, ' and ')}`;
}

/** Returns the entries after a place of the chain, in its order. */
export async function listAuditEntriesAfter(
  db: Queryable,
  filter: AuditFilter,
  { after, limit }: { after: number; limit: number },
): Promise<AuditEntry[]> {
  const whom = whomOf(filter);
  const conditions = [
    sql`link.place > ${after}`,
    ...auditConditions(filter),
    ...(whom === null ? [] : [sql`(tenant = any(${whom}) or tenants && ${whom}::text[])`]),
  ];
  return db.query<AuditEntry>(sql`
    select ${auditColumns}
    from audit_links link join audit_log on audit_log.id = link.entry_id
    where ${join(conditions, ' and ')} order by link.place limit ${limit}`);
}

/** What kind of actor has this id; its beginning tells (kernel/actor.ts). */
export function kindOf(column: string): Sql {
  return raw(
    `case when ${column} is null then 'none' when left(${column}, 4) = 'usr_' then 'person' else 'token' end`,
  );
}

const auditColumns = sql`audit_log.id::text as id, ${instantText('audit_log.at')} as at,
  json_build_object('kind', ${kindOf('token_id')}, 'token_id', token_id, 'name', token_name) as actor, action, target, tenant, tenants, request_id, address, user_agent, before, after,
  link.place, encode(link.hash, 'hex') as hash`;

/** The tenants that entries are to concern; null: any, or none. A foreign one must not tell whether it has entries. */
function whomOf({ tenant, reach }: AuditFilter): readonly string[] | null {
  if (tenant === undefined) return reach;
  return reach === null || reach.includes(tenant) ? [tenant] : [];
}

/** All that a filter asks for, but for its tenants. */
function auditConditions({ tokenId, action, text, from, to }: AuditFilter): Sql[] {
  const conditions: Sql[] = [];
  if (tokenId !== undefined) conditions.push(sql`token_id = ${tokenId}`);
  if (action?.endsWith('.')) {
    // U+10FFFF is the last character in the order of bytes, so this finds everything that begins with the text.
    conditions.push(sql`action >= ${action} and action <= ${`${action}\u{10FFFF}`}`);
  } else if (action !== undefined) conditions.push(sql`action = ${action}`);
  if (text !== undefined) conditions.push(holdsText(searched, text));
  if (from !== undefined) conditions.push(sql`audit_log.at >= ${from}`);
  if (to !== undefined) conditions.push(sql`audit_log.at <= ${to}`);
  return conditions;
}

/**
 * What is searched for a text: nothing that `toEntry` keeps from some reader, who could guess it letter by letter. Those
 * are the tenants out of reach, and the rest of URLs, which older releases wrote whole. They are cut out of the text, as
 * `JSON.stringify` wrote it: PostgreSQL cannot take JSON with U+0000 apart.
 */
const searched = raw(
  `concat_ws(' ', token_name, action, target, tenant, request_id, address, ${shownState('before')}, ${shownState('after')})`,
);

function shownState(column: string): string {
  const text = String.raw`("([^"\\]|\\.)*",?)*`;
  const cuts = [
    [String.raw`"tenants":\[${text}\]`, '"tenants"'],
    [`("url":"[a-z][a-z0-9+.-]*://)[^/?#"]*@`, String.raw`\1`],
    [String.raw`("url":"[^"?]*)[?]([^"\\]|\\.)*`, String.raw`\1`],
  ];
  return cuts.reduce(
    (shown, [pattern, rest]) => `regexp_replace(${shown}, '${pattern}', '${rest}', 'gi')`,
    `${column}::text`,
  );
}
