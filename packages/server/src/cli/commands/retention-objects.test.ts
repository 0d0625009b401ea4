import { expect, test } from 'vitest';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli } = prepareCli();

const fencedStore = {
  state: 'elsewhere',
  problem: 'The store has gone on with another database.',
  written_at: '2026-03-05T14:07:09.000000Z',
  written_by: 'drill-1',
  segments: 1204,
  segments_missing: 3,
};

test('adopt-store tells how things are and asks, and does nothing without an answer', async () => {
  api.on('GET /retention/store', json(fencedStore));
  await ends(cli('retention adopt-store'), 2, [
    'The store has gone on with another database.',
    'Last written by drill-1.',
    'It lacks 3 of the 1,204 objects that this database knows',
    'Take it over without asking: --yes',
  ]);
  expect(api.requests.map(({ method }) => method)).toEqual(['GET']);

  api.on('POST /retention/adopt-store', json({ ...fencedStore, state: 'own', problem: null }));
  await ends(cli('retention adopt-store --yes'), 0, ['The store is this database’s now.']);
});

test('forget tells what is lost, and does nothing until the tenant’s name is typed', async () => {
  const lost = {
    id: null,
    dry_run: true,
    tenant: 'TX',
    object_key: 'records/a',
    versions_changed: 1,
    problem: 'there is no object records/a',
    lost: { count: 1204, bytes: 1, digest: '0' },
    days: [{ store: 'DFW', day: '2001-03-05', count: 1204 }],
  };
  api.on('POST /retention/forget', json(lost));
  await ends(cli('retention forget records/a', { typed: 'y\n' }), 130, [
    'there is no object records/a.',
    'Give up 1,204 records of TX? Type TX to do so:',
  ]);
  const bodies = () => api.requests.map(({ body }) => JSON.parse(String(body)).dry_run);
  expect(bodies()).toEqual([true]);
  const done = await cli('retention forget records/a', { typed: 'TX\n' });
  expect(done.code).toBe(0);
  expect(done.stdout).toContain('2001-03-05');
  expect(bodies()).toEqual([true, true, undefined]);
});

test('adopt-store has nothing to do where the store is this database’s', async () => {
  api.on('GET /retention/store', json({ ...fencedStore, state: 'own', problem: null }));
  const { code, stderr } = await cli('retention adopt-store --yes');
  expect([code, stderr]).toEqual([0, 'The store is this database’s already.\n']);
  expect(api.requests.map(({ method }) => method)).toEqual(['GET']);
});
