import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Database } from '../src/platform/postgres/database.ts';
import { startEmbeddedPostgres } from '../src/platform/postgres/embedded.ts';
import { openDatabase } from '../src/platform/postgres/open-database.ts';
import { copyCluster } from './copy-cluster.ts';

/** A PostgreSQL of its own, for tests that change what a whole server does; its database `svcctl` is migrated. */
export type OwnPostgres = {
  readonly url: string;
  readonly db: Database;
  /** Has all writes wait for standbys, none of which is there; '' ends that. */
  waitForStandbys(names: string): Promise<void>;
  /** Makes the database read only or not, as a managed server does whose disk is full, and as a standby is. */
  setReadOnly(isReadOnly: boolean): Promise<void>;
  stop(): Promise<void>;
};

export async function startOwnPostgres({
  standbyMillis,
}: {
  /** How often waits of `db` for a standby are looked at. */
  standbyMillis?: number;
} = {}): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-own-'));
  const prepared = inject('preparedCluster');
  if (prepared !== '') await copyCluster(prepared, join(dataDir, 'postgres'));
  const postgres = await startEmbeddedPostgres({ dataDir, fsync: false, log: () => {} });
  const options = { maxConnections: 2, onError: () => {} };
  const db = openDatabase({ url: postgres.url, standbyMillis, ...options });
  return {
    url: postgres.url,
    db,
    async waitForStandbys(names) {
      await db.pool.query(`alter system set synchronous_standby_names = '${names}'`);
      await db.pool.query('select pg_reload_conf()');
      if (names !== '') await untilWritesWait(db);
    },
    async setReadOnly(isReadOnly) {
      await db.withConnection(async ({ client }) => {
        await client.query(
          'set transaction_read_only = off; set default_transaction_read_only = off',
        );
        await client.query(
          `alter database svcctl set default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`,
        );
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'svcctl' and pid <> pg_backend_pid()`,
        );
      });
    },
    async stop() {
      await db.close();
      await postgres.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** Until one process of the server has read the setting anew, writes of all sessions end at once. */
async function untilWritesWait(db: Database): Promise<void> {
  for (let hasWaited = false; !hasWaited; ) {
    let hasEnded = false;
    const write = db.pool
      .query(`select pg_logical_emit_message(true, 'a write', '')`)
      .catch(() => {})
      .finally(() => {
        hasEnded = true;
      });
    while (!hasEnded && !hasWaited) {
      const ended = await db.pool.query(`
        select pg_cancel_backend(pid) from pg_stat_activity
        where wait_event = 'SyncRep' and query like '%a write%' and pid <> pg_backend_pid()`);
      hasWaited = ended.rows.length > 0;
    }
    await write;
  }
}
