import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/platform/postgres/embedded.ts';
import { openDatabase } from '../src/platform/postgres/open-database.ts';
import { copyCluster } from './copy-cluster.ts';
import { newFolder } from './folder.ts';
import { use } from './use.ts';

/** A Citus cluster on this machine: a coordinator and two workers, with databases `svcctl`. */
export type Citus = {
  readonly coordinator: EmbeddedPostgres;
  readonly workers: readonly EmbeddedPostgres[];
  /** Makes the coordinator know the workers. */
  join(): Promise<void>;
  /** Starts a server on what lies in a folder beside those of the nodes; it is stopped with them. */
  startNode(name: string): Promise<EmbeddedPostgres>;
  stop(): Promise<void>;
};

/** A cluster for all tests of a file, in a folder of its own; its workers are known already if it is told so. */
export function useCitus({ isJoined }: { isJoined: boolean }): Citus & { readonly folder: string } {
  return use(
    async () => {
      const folder = await newFolder();
      const citus = await startCitus(folder, process.env.SVC_TEST_CITUS ?? 'pg_config');
      if (isJoined) await citus.join();
      return { ...citus, folder };
    },
    async (citus) => {
      await citus.stop();
      await rm(citus.folder, { recursive: true, force: true });
    },
  );
}

/**
 * Starts a cluster with the programs that this pg_config names. The workers begin as copies of the coordinator, so all
 * nodes have one password, by which they reach each other.
 */
export async function startCitus(folder: string, pgConfig: string): Promise<Citus> {
  const { stdout } = await promisify(execFile)(pgConfig, ['--bindir']);
  const settings = {
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
  const startNode = async (name: string) => {
    const options = { binDir: stdout.trim(), fsync: false, settings, log: () => {} };
    const node = await startEmbeddedPostgres({ ...options, dataDir: join(folder, name) });
    nodes.push(node);
    return node;
  };
  try {
    const original = await startNode('coordinator');
    await original.stop();
    for (const name of ['worker-1', 'worker-2']) {
      await mkdir(join(folder, name), { recursive: true });
      await copyCluster(join(folder, 'coordinator', 'postgres'), join(folder, name, 'postgres'));
    }
    const coordinator = await startNode('coordinator');
    const workers = [await startNode('worker-1'), await startNode('worker-2')];
    const { password } = new URL(coordinator.url);
    for (const { url } of [coordinator, ...workers]) {
      await runOn(url, [
        'create extension citus',
        `insert into pg_dist_authinfo values (0, 'svcctl', 'password=${password}')`,
      ]);
    }
    await runOn(coordinator.url, [
      `select citus_set_coordinator_host('127.0.0.1', ${new URL(coordinator.url).port})`,
    ]);
    const add = workers.map(
      ({ url }) => `select citus_add_node('127.0.0.1', ${new URL(url).port})`,
    );
    return { coordinator, workers, join: () => runOn(coordinator.url, add), startNode, stop };
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
