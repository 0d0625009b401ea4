import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runOn, useCitus } from '../../packages/server/test/citus.ts';
import { expectCountersTrue } from '../lib/counters.ts';
import { useInstallation } from '../lib/installation.ts';
import { startLoad } from '../lib/load.ts';
import { query } from '../lib/postgres.ts';
import { waitFor } from '../lib/wait-for.ts';

const citus = useCitus({ isJoined: true });
const installation = useInstallation('once', 'nothing');

test('a standby takes the place of a lost worker while records are stored, and nothing is lost', async () => {
  const { url } = citus.coordinator;
  const service = await installation.start({ DATABASE_URL: url, SVC_RATE_LIMIT: '0' });
  const load = startLoad(service);
  const untilMore = async (what: string) => {
    const { acknowledged, pages } = load.counts();
    await waitFor(`writes to go on ${what}`, () => load.counts().acknowledged > acknowledged + 5);
    await waitFor(`pages to go on ${what}`, () => load.counts().pages > pages + 5);
  };
  await untilMore('at first');
  const worker = await findWorker('TX');

  await copyRunning(worker.url, join(citus.folder, 'standby-1', 'postgres'));
  const standby = await citus.startNode('standby-1');
  await waitFor('the standby to follow', async () => {
    const [followed] = await query(worker.url, 'select from pg_stat_replication');
    return followed !== undefined;
  });
  // Only a standby that is waited for has all that was acknowledged.
  await runOn(worker.url, [
    `alter system set synchronous_standby_names = '*'`,
    'select pg_reload_conf()',
  ]);
  await waitFor('the standby to be waited for', async () => {
    const [followed] = await query(worker.url, 'select sync_state from pg_stat_replication');
    return followed?.sync_state === 'sync';
  });
  await untilMore('beside a standby');

  await worker.stop();
  await runOn(standby.url, [
    'alter system reset synchronous_standby_names',
    'select pg_promote()',
    'select pg_reload_conf()',
  ]);
  const port = Number(new URL(standby.url).port);
  await runOn(url, [
    `select citus_update_node(nodeid, '127.0.0.1', ${port}) from pg_dist_node
      where nodeport = ${Number(new URL(worker.url).port)}`,
  ]);
  await untilMore('on the standby');
  await load.stop();
  expect(load.faults()).toEqual([]);
  const rows = await query(url, `select event_id from enrichment_records where tenant = 'TX'`);
  const stored = new Set(rows.map(({ event_id }) => event_id));
  expect(load.acknowledgedIds().filter((id) => !stored.has(id))).toEqual([]);
  await expectCountersTrue(url, service);
});

/** The worker that the records of a tenant lie on. */
async function findWorker(tenant: string) {
  const [place] = await query(
    citus.coordinator.url,
    `select nodeport::text as port from citus_shards
      where shardid = get_shard_id_for_distribution_column('enrichment_records', '${tenant}')`,
  );
  const worker = citus.workers.find(({ url }) => new URL(url).port === place?.port);
  if (worker === undefined) throw new Error(`no worker has ${tenant}`);
  return worker;
}

/** Copies a server that runs, into a folder that follows it from then on. */
async function copyRunning(url: string, to: string): Promise<void> {
  await mkdir(join(to, '..'), { recursive: true });
  const { stdout } = await promisify(execFile)(process.env.SVC_TEST_CITUS ?? 'pg_config', [
    '--bindir',
  ]);
  const args = ['--dbname', url, '--pgdata', to, '--write-recovery-conf', '--checkpoint', 'fast'];
  await promisify(execFile)(join(stdout.trim(), 'pg_basebackup'), args);
}
