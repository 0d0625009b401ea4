import { expect, test } from 'vitest';
import type { ProcessRow } from '../../checks/contract.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';

const { api, cli, jsonOf } = prepareCli();

const live: ProcessRow = {
  id: 'prc_1',
  host: 'web-1',
  pid: 41,
  version: '0.1.0',
  node: 'v20.19.0',
  command: 'serve',
  roles: ['api', 'exports'],
  url: 'http://10.0.0.1:8080',
  state: 'live',
  since: '2026-03-05T09:00:00.000000Z',
  seen_at: '2026-03-05T10:59:57.000000Z',

  silent_seconds: 3,
  clock_ahead_ms: 2,
  store_state: 'own',
  secret_keys: ['1a2b3c4d'],
  settings: {},
  disk_free_bytes: 42e9,
  disk_total_bytes: 100e9,
};
const silent: ProcessRow = {
  ...live,
  id: 'prc_2',
  host: 'drain-1',
  pid: 7,
  roles: ['drainer'],
  url: null,
  state: 'silent',
  silent_seconds: 44.6,
  disk_free_bytes: null,
  disk_total_bytes: null,
};
const drain: ProcessRow = { ...silent, id: 'prc_3', pid: 8, command: 'drain' };
const status = { at: live.seen_at, process_id: 'prc_1', processes: [live, silent] };

test('ps lists the processes, what they do and how they are', async () => {
  api.on('GET /status', json(status));
  const shown = await cli('ps', { isTerminal: true, env: { NO_COLOR: '' } });
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.stdout).toMatchInlineSnapshot(`
    "[2mHOST     PID  ROLES        STATE            VERSION  SINCE    LAST SEEN          DISK FREE[22m
    web-1     41  api,exports  live             0.1.0    3 h ago  1 h ago    42.0 GB of 100 GB
    drain-1    7  drainer      silent for 45 s  0.1.0    3 h ago  1 h ago                    –
    "
  `);
  api.on('GET /status', json({ ...status, processes: [live, silent, drain] }));
  const piped = await cli('ps');
  expect(piped.stdout.split('\n')[1]).toMatch(/^drain-1\t7\tdrainer\tsilent\t/);
  expect(piped.stdout.split('\n')[2]).toMatch(/^drain-1\t8\tsvcctl drain\tsilent\t/);
});

test('ps --json prints what the service told of each', async () => {
  api.on('GET /status', json(status));
  expect(await jsonOf('ps --json')).toEqual([live, silent]);
  expect(await jsonOf('ps --json host,state')).toEqual([
    { host: 'web-1', state: 'live' },
    { host: 'drain-1', state: 'silent' },
  ]);
});
