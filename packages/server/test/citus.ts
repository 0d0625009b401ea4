import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openDatabase } from '../src/platform/postgres/database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/platform/postgres/embedded.ts';

/** A Citus cluster on this machine: a coordinator and two workers, with databases `svcctl`. */
export type Citus = {
  readonly coordinator: EmbeddedPostgres;
  readonly workers: readonly EmbeddedPostgres[];
  /** Makes the coordinator know the workers. */
  join(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts a cluster with the programs that this pg_config names. The nodes trust every connection of this machine, since
 * they have to reach each other.
 */
export async function startCitus(folder: string, pgConfig: string): Promise<Citus> {
  const { stdout } = await promisify(execFile)(pgConfig, ['--bindir']);
  await mkdir(folder, { recursive: true });
  const trust = join(folder, 'pg_hba.conf');
  await writeFile(trust, 'host all all 127.0.0.1/32 trust\n');
  const settings = {
    hba_file: trust,
    shared_preload_libraries: 'citus',
    wal_level: 'logical',
    shared_buffers: '64MB',
    max_connections: '300',
    max_worker_processes: '100',
    'citus.shard_count': '4',
    // Encryption would take most of the time of short statements.
    ssl: 'off',
    'citus.node_conninfo': 'sslmode=disable',
    // A transaction that a lost node has left in doubt is settled at once instead of within a minute.
    'citus.recover_2pc_interval': '1s',
    'citus.enable_statistics_collection': 'off',
  };
  const nodes: EmbeddedPostgres[] = [];
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    for (const name of ['coordinator', 'worker-1', 'worker-2']) {
      const dataDir = join(folder, name);
      const options = { dataDir, binDir: stdout.trim(), fsync: false, settings, log: () => {} };
      nodes.push(await startEmbeddedPostgres(options));
    }
    for (const { url } of nodes) await runOn(url, ['create extension citus']);
    const [coordinator, ...workers] = nodes as [EmbeddedPostgres, ...EmbeddedPostgres[]];
    await runOn(coordinator.url, [
      `select citus_set_coordinator_host('127.0.0.1', ${new URL(coordinator.url).port})`,
    ]);
    const add = workers.map(
      ({ url }) => `select citus_add_node('127.0.0.1', ${new URL(url).port})`,
    );
    return { coordinator, workers, join: () => runOn(coordinator.url, add), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs statements one after the other on a connection of its own. */
export async function runOn(url: string, statements: readonly string[]): Promise<void> {
  const database = openDatabase({ url, maxConnections: 1, onError: () => {} });
  try {
    for (const statement of statements) await database.pool.query(statement);
  } finally {
    await database.close();
  }
}
