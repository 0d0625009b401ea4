import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withClient } from '../lib/postgres.mjs';
import { startEmbeddedPostgres } from '../lib/product.mjs';

const pgConfig = process.env.PG_CONFIG ?? 'pg_config';

/** The folder of a PostgreSQL with Citus, which pg_config (or PG_CONFIG) names; a text that says what is missing. */
export async function findCitus() {
  const ask = async (option) => (await promisify(execFile)(pgConfig, [option])).stdout.trim();
  try {
    const [binDir, shareDir] = [await ask('--bindir'), await ask('--sharedir')];
    const control = join(shareDir, 'extension', 'citus.control');
    return existsSync(control) ? { binDir } : `there is no Citus: ${control} does not exist`;
  } catch (error) {
    return `there is no Citus: ${pgConfig} does not run (${error.message})`;
  }
}

/** Starts a coordinator and two workers, which trust every connection of this machine. */
export async function startCluster(scope, { dir, binDir }) {
  const trust = join(dir, 'pg_hba.conf');
  mkdirSync(dir, { recursive: true });
  writeFileSync(trust, 'host all all 127.0.0.1/32 trust\n');
  const settings = {
    hba_file: trust,
    shared_preload_libraries: 'citus',
    wal_level: 'logical',
    max_connections: '300',
    max_worker_processes: '100',
    'citus.shard_count': '8',
    ssl: 'off',
    'citus.node_conninfo': 'sslmode=disable',
    'citus.enable_statistics_collection': 'off',
  };
  const nodes = [];
  for (const name of ['coordinator', 'worker-1', 'worker-2']) {
    const dataDir = join(dir, name);
    const node = await startEmbeddedPostgres({ dataDir, binDir, settings, log: () => {} });
    scope.defer(() => node.stop());
    await withClient(node.url, (client) => client.query('create extension citus'));
    nodes.push({ url: node.url, dataDir });
  }
  const [coordinator, ...workers] = nodes.map(({ url }) => url);
  await withClient(coordinator, async (client) => {
    await client.query(
      `select citus_set_coordinator_host('127.0.0.1', ${new URL(coordinator).port})`,
    );
    for (const worker of workers) {
      await client.query(`select citus_add_node('127.0.0.1', ${new URL(worker).port})`);
    }
  });
  return { url: coordinator, dataDirs: nodes.map(({ dataDir }) => dataDir) };
}
