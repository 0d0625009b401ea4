import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useFolder } from '../../../test/folder.ts';
import { rowOf } from '../testing/answers.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json, pages } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';
import type { Policy } from './policies.ts';

const folder = useFolder();
const { api, cli, sent } = prepareCli();

const policy: Policy = rowOf('GET /retention/policies', {
  tenant: 'TX',
  hot_days: 3,
  from_default: true,
});

refusesUsage(api, [
  ['retention policy set TX', 'say what to set'],
  ['retention policy set TX --delete-days 0', 'nor never'],
]);

test('policies are listed and shown', async () => {
  const standard = { ...policy, tenant: '*', delete_days: 365 };
  api.on('GET /retention/policies', pages([JSON.stringify(standard)]));
  expect((await cli('retention policy ls')).stdout).toBe(
    '*\t3\t365\t\t2026-03-05T10:00:00.000000Z\t\n',
  );
  api.on('GET /retention/policies/TX', json(policy));
  const { stdout } = await cli('retention policy show TX', { isTerminal: true });
  expect(stdout).toContain('policy         the default (*)');
  expect(stdout).toContain('deleted after  never');
});

test('policy set keeps what is not given, and asks nothing where nothing more goes', async () => {
  api.on('GET /retention/policies/TX', json({ ...policy, delete_days: 365, hold: true }));
  api.on('PUT /retention/policies/TX', json({ ...policy, from_default: false }));
  expect((await cli('retention policy set TX --hot-days 7')).code).toBe(0);
  expect((await cli('retention policy set TX --delete-days never --no-hold')).code).toBe(0);
  const { updated_at: read } = policy;
  expect(sent('PUT', '/retention/policies/TX')).toEqual([
    { hot_days: 7, delete_days: 365, hold: true, if_updated_at: read },
    { hot_days: 3, delete_days: null, hold: false, if_updated_at: read },
  ]);
});

test('policy set that shortens a life tells what would go, and asks', async () => {
  api.on('GET /retention/policies/TX', json(policy));
  api.on('PUT /retention/policies/TX', json(policy));
  api.on('GET /exports/estimate', json({ rows: 1204, bytes: 611_000 }));
  await ends(cli('retention policy set TX --delete-days 30'), 2, [
    'The next run would DELETE 1,204 records (611 kB) of 1 tenant, up to 2026-02-02.',
  ]);
  expect(api.requests.at(-1)?.query).toEqual({
    tenant: 'TX',
    from: '1970-01-01',
    to: '2026-02-02',
  });
  expect((await cli('retention policy set TX --delete-days 30', { typed: 'n\n' })).code).toBe(130);
  expect(sent('PUT', '/retention/policies/TX')).toEqual([]);
  expect((await cli('retention policy set TX --delete-days 30 --yes')).code).toBe(0);
});

test('the default that is shortened counts all tenants under it', async () => {
  const tenant = (name: string, isDefault: boolean) =>
    JSON.stringify({ tenant: name, policy: { from_default: isDefault } });
  api.on('GET /retention/policies/*', json({ ...policy, tenant: '*' }));
  api.on('PUT /retention/policies/*', json({ ...policy, tenant: '*' }));
  api.on(
    'GET /retention/tenants',
    pages([tenant('A', true), tenant('B', false), tenant('C', true)]),
  );
  api.on('GET /exports/estimate', json({ rows: 10, bytes: 1000 }));
  const { stderr } = await cli('retention policy set * --delete-days 30', { typed: 'y\n' });
  expect(stderr).toContain('would DELETE 20 records (2.0 kB) of 2 tenants');
  expect(sent('PUT', '/retention/policies/*')).toHaveLength(1);
});

test('policy rm asks before a legal hold ends', async () => {
  api.on('GET /retention/policies/TX', json({ ...policy, from_default: false, hold: true }));
  api.on('GET /retention/policies/*', json({ ...policy, tenant: '*' }));
  api.on('DELETE /retention/policies/TX', json('', 204));
  expect((await cli('retention policy rm TX', { typed: 'n\n' })).stderr).toContain(
    'End the legal hold of TX?',
  );
  const { code, stderr } = await cli('retention policy rm TX --yes');
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'TX is under the default (*) now.\n' });
  expect(removals()).toEqual([['/retention/policies/TX', { if_updated_at: policy.updated_at }]]);
});

const removals = () =>
  api.requests.filter(({ method }) => method === 'DELETE').map(({ path, query }) => [path, query]);

test('apply makes, changes and removes policies only as its plan saw them', async () => {
  const own = (tenant: string) => ({ ...policy, tenant, from_default: false });
  const rows = [own('OLD'), own('TX')].map((row) => JSON.stringify(row));
  api.on('GET /retention/policies', pages(rows));
  for (const tenant of ['NEW', 'TX'])
    api.on(`PUT /retention/policies/${tenant}`, json(own(tenant)));
  api.on('DELETE /retention/policies/OLD', json('', 204));
  const file = join(folder.path, 'policies.yaml');
  await writeFile(file, 'policies: [{ tenant: NEW, hot_days: 9 }, { tenant: TX, hot_days: 9 }]');
  expect((await cli(`apply ${file} --prune --yes`)).code).toBe(0);
  const { updated_at: read } = policy;
  const put = (tenant: string) => sent('PUT', `/retention/policies/${tenant}`);
  expect(put('NEW')).toMatchObject([{ hot_days: 9, if_updated_at: null }]);
  expect(put('TX')).toMatchObject([{ hot_days: 9, if_updated_at: read }]);
  expect(removals()).toEqual([['/retention/policies/OLD', { if_updated_at: read }]]);
});
