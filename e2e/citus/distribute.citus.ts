import { expect, test } from 'vitest';
import { useCitus } from '../../packages/server/test/citus.ts';
import { expectCountersTrue } from '../lib/counters.ts';
import { useInstallation } from '../lib/installation.ts';
import { startLoad } from '../lib/load.ts';
import { query } from '../lib/postgres.ts';
import { waitFor } from '../lib/wait-for.ts';

const citus = useCitus({ isJoined: false });
const installation = useInstallation('once', 'nothing');

test('a database grows into a cluster while it is written to and read', async () => {
  const { url } = citus.coordinator;
  const database = { DATABASE_URL: url };
  const alone = await installation.run(['database', 'distribute', '--yes'], database);
  expect([alone.code, alone.output]).toEqual([1, expect.stringContaining('citus_add_node')]);

  const service = await installation.start({ ...database, SVC_RATE_LIMIT: '0' });
  const load = startLoad(service);
  await waitFor('the load to run', () => load.counts().acknowledged > 5);
  await citus.join();

  const looked = await installation.run(['database', 'distribute', '--dry-run'], database);
  expect([looked.code, looked.output]).toEqual([0, expect.stringContaining('To do: 19 tables')]);
  expect(await listSpread(url)).toEqual([]);

  const spread = await installation.run(['database', 'distribute', '--yes'], database);
  expect([spread.code, spread.output]).toEqual([0, expect.stringContaining('2 workers')]);
  const after = load.counts();
  await waitFor('writes to go on', () => load.counts().acknowledged > after.acknowledged + 5);
  await waitFor('pages and exports to go on', () => {
    const { pages, exports } = load.counts();
    return pages > after.pages + 5 && exports > after.exports;
  });
  await load.stop();
  expect(load.faults()).toEqual([]);
  expect(await listSpread(url)).toContain('enrichment_records');
  const [kept] = await query(url, "select pg_relation_size('leaf_days') as here");
  expect(kept).toEqual({ here: '0' });
  await expectCountersTrue(url, service);

  const again = await installation.run(['database', 'distribute', '--yes'], database);
  expect([again.code, again.output]).toEqual([0, expect.stringContaining('Nothing is left')]);
});

async function listSpread(url: string): Promise<unknown[]> {
  const rows = await query(
    url,
    "select logicalrelid::text as name from pg_dist_partition where partmethod = 'h'",
  );
  return rows.map(({ name }) => name);
}
