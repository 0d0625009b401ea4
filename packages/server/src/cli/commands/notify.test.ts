import { expect, test } from 'vitest';
import { rowOf } from '../testing/answers.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli } = prepareCli();

const target = rowOf('GET /notify/targets', {
  id: 'ntt_1',
  kind: 'webhook',
  url: 'https://pager.example/in',
  min_severity: 'warning',
  enabled: true,
  created_by: 'ops',
  last_send: {
    at: '2026-03-05T11:00:00.000000Z',
    state: 'given_up',
    attempts: 7,
    is_test: false,
    error: '500 Internal Server Error',
  },
});
const bodyOf = () => JSON.parse(String(api.requests.at(-1)?.body));

test('notify add prints the secret alone, and sends what was asked for', async () => {
  api.on('POST /notify/targets', json({ ...target, secret: 'whsec_x' }, 201));
  const words = ['notify', 'add', '--webhook', 'https://pager.example/in', '--kind', 'export_done'];
  await ends(cli([...words, '--severity', 'info']), 0, 'whsec_x\n', []);
  expect(bodyOf()).toEqual({
    kind: 'webhook',
    url: 'https://pager.example/in',
    kinds: ['export_done'],
    min_severity: 'info',
  });
  const own = ['notify', 'add', '--email', 'jo@tx.example', '--tenant', 'TX'];
  await ends(cli(own), 0, 'whsec_x\n', []);
  expect(bodyOf()).toEqual({ kind: 'email', to: 'jo@tx.example', tenant: 'TX' });
  await ends(cli('notify add'), 2);
  const wrong = await cli([...words.slice(0, 4), '--kind', 'rain']);
  expect(wrong.code).toBe(2);
});

test('notify ls says whether it arrives', async () => {
  api.on('GET /notify/targets', json({ data: [target, { ...target, last_send: null }] }));
  const seen = await cli('notify ls', { isTerminal: true, columns: 140 });
  expect(seen.stdout).toContain('given up 1 h ago');
  expect(seen.stdout).toContain('nothing yet');
  const piped = await cli('notify ls --json id,last_send');
  expect(JSON.parse(piped.stdout)[0]).toEqual({ id: 'ntt_1', last_send: target.last_send });
});

test('notify change takes all for every kind, and asks for something to change', async () => {
  api.on('PATCH /notify/targets/ntt_1', json({ ...target, enabled: false }));
  await ends(cli('notify change ntt_1 --kind all --off'), 0, '', []);
  expect(bodyOf()).toEqual({ kinds: null, enabled: false });
  for (const words of [[], ['--on', '--off']]) {
    const refused = await cli(['notify', 'change', 'ntt_1', ...words]);
    expect(refused.code).toBe(2);
  }
});

test.each([
  [{ delivered: true, error: null, status: 204, duration_ms: 7 }, 0, 'reached ntt_1 in 7 ms'],
  [
    { delivered: false, error: 'No answer within 15 s', status: null, duration_ms: 1 },
    1,
    'No answer',
  ],
])('notify test of %j exits with %d', async (answer, code, text) => {
  api.on('POST /notify/targets/ntt_1/test', json(answer));
  const running = cli('notify test ntt_1 --json');
  await ends(running, code, `${JSON.stringify(answer)}\n`, [text]);
});
