import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ends } from './testing/run.ts';
import { useServiceCli } from './testing/service-cli.ts';

const settings = { SVC_ROLES: 'api,retention', SVC_COLD_GRACE_SECONDS: '0' };
const { service, cli, ok, jsonOf, store } = useServiceCli(settings);
beforeAll(() =>
  store(
    ['TX', 'CA'].flatMap((tenant) =>
      Array.from({ length: 60 }, (_, i) => ({
        tenant,
        store: i % 2 === 0 ? 'AUS' : 'DFW',
        event_id: `e${i}`,
        enrichment: { i },
        occurred_at: `2001-01-0${1 + (i % 3)}T00:00:${String(i).padStart(2, '0')}Z`,
      })),
    ),
  ),
);

test('what plan tells is what run moves, verify passes, and nothing is left to move', async () => {
  expect(await jsonOf('retention plan --json tenant,kind,count')).toEqual([
    { tenant: 'CA', kind: 'move', count: 60 },
    { tenant: 'TX', kind: 'move', count: 60 },
  ]);
  const { stderr } = await ok('retention run --tenant TX');
  expect(stderr).toContain('60 records');
  expect(stderr).toContain('✓ 60 records');
  await ok('retention run');
  expect(await jsonOf('retention plan --json')).toEqual([]);
  const verified = await ok('retention verify');
  expect(verified.stderr).toMatch(/✓ 2 objects .* read back, 120 records/);
});

test('segments lists the objects that are read, for programs that read them without us', async () => {
  const live = await jsonOf('retention segments --live --json tenant,object_key,count');
  expect(live).toEqual(
    ['CA', 'TX'].map((tenant) => ({
      tenant,
      count: 60,
      object_key: expect.stringMatching(`^records/tenant=${tenant}/2001-01-01_2001-01-03_`),
    })),
  );
  const path = join(service.dataDir, 'cold', live[0].object_key);
  expect((await readFile(path)).subarray(0, 4).toString()).toBe('PAR1');
  const { stdout } = await ok('retention segments --tenant TX');
  expect(stdout.split('\t').slice(0, 3)).toEqual(['TX', live[1].object_key, 'live']);
});

test('table tells where other engines find the same records', async () => {
  const { 'metadata-location': path, metadata } = await jsonOf('retention table --json');
  expect(path).toContain(join(service.dataDir, 'cold', 'iceberg', 'all'));
  expect(JSON.parse(await readFile(path.replace('file://', ''), 'utf8'))).toEqual(metadata);
  const { stdout } = await ok('retention table', { isTerminal: true });
  expect(stdout).toMatch(/records +120\nsegments +2\n/);
  expect(stdout).toContain(`${service.url}/iceberg`);
});

test('the journal shows each move with both triples', async () => {
  const moves = await jsonOf('retention moves --kind move --json id,tenant,source,object');
  expect(moves.map((move: { tenant: string }) => move.tenant)).toEqual(['CA', 'TX']);
  for (const { id, source, object } of moves) {
    expect(source).toMatchObject({ count: 60 });
    expect(object).toEqual(source);
    expect((await ok(`retention move ${id}`, { isTerminal: true })).stdout).toContain('✓ equal');
  }
  expect(await cli('retention move mv_none')).toMatchObject({ code: 3, stdout: '' });
});

test('policies are set, shown, and removed', async () => {
  expect((await ok('retention policy ls')).stdout).toMatch(/^\*\t3\tnever\t/);
  await ok('retention policy set TX --hot-days 7 --hold');
  await ok('retention policy set TX --delete-days 30000');
  expect(await jsonOf('retention policy show TX --json hot_days,delete_days,hold')).toEqual({
    hot_days: 7,
    delete_days: 30_000,
    hold: true,
  });
  await ends(cli('retention policy set TX --delete-days 30 --no-hold'), 2, [
    'would DELETE 60 records',
  ]);
  await ok('retention policy rm TX --yes');
  expect(await jsonOf('retention policy show TX --json from_default')).toEqual({
    from_default: true,
  });
});

test('erase tells, and then erases, in the cold tier too', async () => {
  const words = 'records erase --tenant TX --event-id e1 e2 e99 --json';
  expect(await jsonOf(`${words} --dry-run`)).toMatchObject({
    dry_run: true,
    erased: { count: 2 },
    cold_count: 2,
    not_found: ['e99'],
  });
  expect(await jsonOf(`${words} --yes`)).toMatchObject({ dry_run: false, erased: { count: 2 } });
  expect(await jsonOf(`${words} --dry-run`)).toMatchObject({ erased: { count: 0 } });
  await ok('retention verify');
});
