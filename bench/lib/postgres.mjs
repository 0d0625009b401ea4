import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { migrate, openDatabase, startEmbeddedPostgres } from './product.mjs';

/**
 * The embedded PostgreSQL as `svcctl serve` starts it. Both sides of every pair run on it; each section
 * has a database of its own, whose tables are there, because to make them takes a service a second of its start.
 * `binDir` has other programs than those of the package. `SVC_BENCH_CLUSTER` is a stopped cluster to begin with.
 *
 * @param {any} scope
 * @param {string} dir
 * @param {{ binDir?: string }} options
 */
export async function startPostgres(scope, dir, options = {}) {
  const log = (level, message, fields) => {
    if (level !== 'info') process.stderr.write(`postgres: ${message} ${JSON.stringify(fields)}\n`);
  };
  const dataDir = join(dir, 'server');
  const { SVC_BENCH_CLUSTER: prepared } = process.env;
  if (prepared !== undefined) {
    mkdirSync(dataDir);
    execFileSync('cp', ['-a', prepared, join(dataDir, 'postgres')]);
  }
  const server = await startEmbeddedPostgres({ dataDir, log, ...options });
  scope.defer(() => server.stop());
  const made = openDatabase({ url: server.url, maxConnections: 2, onError: () => {} });
  await migrate(made);
  await made.close();
  const admin = new URL(server.url);
  admin.pathname = '/postgres';
  return {
    /** With `isEmpty` it has no tables. */
    async createDatabase(own, name, { isEmpty = false } = {}) {
      const template = isEmpty ? '' : 'template svcctl strategy file_copy';
      await withClient(admin.href, (client) => client.query(`create database ${name} ${template}`));
      own.defer(() =>
        withClient(admin.href, (client) => client.query(`drop database ${name} with (force)`)),
      );
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    /** The process of which all of the server's are children. */
    pid: () =>
      Number.parseInt(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10),
    version: () =>
      withClient(server.url, async (client) => {
        const { rows } = await client.query('show server_version');
        return rows[0].server_version;
      }),
  };
}

/** A connection of the bench's own, closed with the scope. */
export async function connect(scope, url) {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'bench',
    // As the service's own connections (client.ts).
    options: '-c timezone=UTC -c datestyle=ISO -c jit=off',
  });
  client.on('error', () => {});
  await client.connect();
  scope.defer(() => client.end());
  return client;
}

/** Lends a connection of its own. */
export async function withClient(url, work) {
  const client = new pg.Client({ connectionString: url, application_name: 'bench' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** What an ingest fills. */
export const recordTables =
  'enrichment_records, leaf_days, leaf_months, leaf_stores, leaf_tenants, tenant_days, tenant_months, stored_parts, stored_hours, stored_days';

/** A table `bare_records` of the same columns, key and partitions as that of the records. */
export async function createBareRecords(db) {
  await db.query(
    'create table bare_records (like enrichment_records including all) partition by range (occurred_at)',
  );
  const { rows } = await db.query(`
    select relname as name, pg_get_expr(relpartbound, pg_class.oid) as bound
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass`);
  for (const { name, bound } of rows) {
    await db.query(`create table bare_${name} partition of bare_records ${bound}`);
  }
}
