import sql from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';
import { longestTimerMillis } from './client.ts';
import type { Database, Queryable } from './database.ts';
import { advisoryLocks } from './locks.ts';

/** Its shards come first; those of the others lie beside them. */
const firstTable = 'enrichment_records';

/**
 * How tables lie in a Citus cluster. Those with a column are spread over the workers by it; all of them are colocated,
 * so that what belongs to one tenant lies on one worker, and one transaction on it stays there. Those without are
 * copied to every worker. Tables that are not named stay on the coordinator: access, jobs, and the webhooks.
 */
const placements: readonly { table: string; column: string | null }[] = [
  ...[
    firstTable,
    'leaf_days',
    'leaf_months',
    'leaf_stores',
    'leaf_tenants',
    'tenant_days',
    'tenant_months',
    'stored_hours',
    'stored_days',
    'stored_parts',
    'segments',
    'segment_days',
    'tags',
    'dataset_versions',
    'dataset_version_windows',
    'moves',
    'move_days',
    'move_segments',
    'object_removals',
  ].map((table) => ({ table, column: 'tenant' })),
  { table: 'retention_policies', column: null },
];

/** The functions that statements on distributed tables call. */
const functions = ['record_digest', 'next_instant'] as const;

/** A table that a Citus cluster is to spread or to copy. */
export type PlacedTable = {
  readonly table: string;
  /** The column by which its rows are spread; null when every worker gets a copy. */
  readonly column: string | null;
  readonly is_distributed: boolean;
  /** What it takes on this server, with its partitions and indexes. */
  readonly size_bytes: number;
  /** Whether rows of it lie on this server: all of them, or what was copied to the workers. */
  readonly has_rows_here: boolean;
};

/** A database with the extension Citus. */
export type Cluster = {
  readonly version: string;
  /** The workers that take rows. */
  readonly workers: number;
  readonly tables: readonly PlacedTable[];
};

/** Looks at the database as a Citus cluster; null without Citus. Throws `database_unusable` on one of the workers. */
export async function findCluster(db: Queryable): Promise<Cluster | null> {
  const [extension] = await db.query<{ version: string }>(
    sql`select extversion as version from pg_extension where extname = 'citus'`,
  );
  if (extension === undefined) return null;
  const [node] = await db.query<{ is_coordinator: boolean; workers: number }>(sql`
    select citus_is_coordinator() as is_coordinator, count(*) as workers from pg_dist_node
    where groupid <> 0 and noderole = 'primary' and isactive and shouldhaveshards`);
  if (node?.is_coordinator !== true) {
    throw new AppError('database_unusable', {
      detail:
        'The server of the database is a worker of a Citus cluster. Give DATABASE_URL the address of its coordinator.',
    });
  }
  const tables = await db.query<PlacedTable>(sql`
    select placed."table", placed."column", placement.logicalrelid is not null as is_distributed,
      pg_total_relation_size(to_regclass(placed."table")) + (
        select coalesce(sum(pg_total_relation_size(part.relid)), 0)
        from pg_partition_tree(to_regclass(placed."table")) part where part.isleaf
      )::bigint as size_bytes,
      pg_relation_size(to_regclass(placed."table")) + (
        select coalesce(sum(pg_relation_size(part.relid)), 0)
        from pg_partition_tree(to_regclass(placed."table")) part where part.isleaf
      ) > 0 as has_rows_here
    from unnest(${placements.map(({ table }) => table)}::text[],
      ${placements.map(({ column }) => column)}::text[]) with ordinality as placed("table", "column", number)
    left join pg_dist_partition placement on placement.logicalrelid = to_regclass(placed."table")
      and (placement.partmethod = 'h' or placement.repmodel = 't')
    where to_regclass(placed."table") is not null
    order by placed.number`);
  return { version: extension.version, workers: node.workers, tables };
}

/** Tables that together take no more than this are distributed at the start, which takes a few seconds. */
const smallBytes = 64 * 1024 * 1024;

/**
 * Distributes the tables of a cluster that are not yet, if they are small; called after each migration, so that a new
 * table lies where it belongs before its first row. Returns the cluster as it is now; null without Citus. Throws
 * `database_unusable` for a worker that would read times otherwise than the coordinator.
 */
export async function distributeSmall(db: Database): Promise<Cluster | null> {
  const found = await findCluster(db);
  if (found === null || found.workers === 0) return found;
  const missing = missingOf(found);
  const bytes = missing.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  const isDone = missing.length === 0 && !found.tables.some((table) => table.has_rows_here);
  const cluster = isDone || bytes > smallBytes ? found : await distribute(db);
  await refuseOtherZones(db);
  return cluster;
}

/** What is not distributed yet. */
export function missingOf({ tables }: Cluster): readonly PlacedTable[] {
  return tables.filter(({ is_distributed }) => !is_distributed);
}

/**
 * Distributes what is missing, in one transaction: a process that is killed leaves everything as it was. Whoever wants
 * to write meanwhile waits, and is told to come back after ten seconds. Throws `database_unusable` without Citus or
 * without workers, and `query_timeout` when an export reads a table for long; the next call goes on.
 */
export async function distribute(db: Database): Promise<Cluster> {
  // The connections to the workers live as long as the session, and know the settings of the workers as they were.
  const session = await db.openSession({ answerMillis: longestTimerMillis });
  try {
    await session.query(sql`begin`);
    await session.query(sql`set local statement_timeout = 0`);
    await session.query(sql`select pg_advisory_xact_lock(${advisoryLocks.migrations})`);
    const missing = missingOf(await needCluster(session));
    await setUpWorkers(session);
    for (const placed of missing) await place(session, placed);
    for (const name of functions) {
      await session.query(sql`
        select create_distributed_function(oid::regprocedure) from pg_proc where proname = ${name}`);
    }
    const cluster = await needCluster(session);
    await session.query(sql`commit`);
    await clearHere(session, cluster);
    return cluster;
  } finally {
    await session.close();
  }
}

/** Workers get none of a session's settings: these are those without which they answer otherwise, or wait for ever. */
async function setUpWorkers(session: Queryable): Promise<void> {
  await session.query(sql`
    do $$ begin
      execute format('alter database %I set timezone = %L', current_database(), 'UTC');
      execute format('alter database %I set jit = off', current_database());
      execute format('alter database %I set lock_timeout = %L', current_database(), '10s');
    end $$`);
}

/** On a worker with another time zone, days would begin at another hour. A worker that is down is asked the next time. */
async function refuseOtherZones(db: Queryable): Promise<void> {
  const rows = await db.query<{ node: string; zone: string }>(sql`
    select nodename || ':' || nodeport as node, result as zone from run_command_on_workers('show timezone')
    where success and result not in ('UTC', 'Etc/UTC', 'GMT') order by 1`);
  const [other] = rows;
  if (other === undefined) return;
  throw new AppError('database_unusable', {
    detail: `The worker ${other.node} has the time zone ${other.zone}. Run there, in this database: alter database … set timezone = 'UTC'.`,
  });
}

/** Returns the cluster. Throws `database_unusable` when there is none, or none with workers. */
export async function needCluster(db: Queryable): Promise<Cluster> {
  const cluster = await findCluster(db);
  if (cluster === null || cluster.workers === 0) {
    throw new AppError('database_unusable', {
      detail:
        cluster === null
          ? 'The database has no extension citus, so there is nothing to distribute its tables over.'
          : 'The Citus cluster has no workers that take rows. Add them with citus_add_node, and try again.',
    });
  }
  return cluster;
}

/** Deletes here what the workers have now, where no erasure would find it; one table at a time, for those who wait. */
async function clearHere(session: Queryable, { tables }: Cluster): Promise<void> {
  for (const { table, is_distributed, has_rows_here } of tables) {
    if (!is_distributed || !has_rows_here) continue;
    await session.query(
      sql`select truncate_local_data_after_distributing_table(${table}::text::regclass)`,
    );
  }
}

async function place(session: Queryable, { table, column }: PlacedTable): Promise<void> {
  const colocation = table === firstTable ? 'none' : firstTable;
  await session.query(
    column === null
      ? sql`select create_reference_table(${table}::text::regclass)`
      : sql`select create_distributed_table(${table}::text::regclass, ${column}, colocate_with => ${colocation})`,
  );
}
