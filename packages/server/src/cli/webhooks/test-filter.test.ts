import { expect, test } from 'vitest';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli, jsonOf } = prepareCli(folder);

const row = (id: string | null, reason: string | null) => ({
  id,
  created_at: id && '2026-03-05T10:00:00.000000Z',
  type: 'incident.created',
  store: null,
  passes: reason === null,
  reason,
});
const tried = { looked_at: 2, passed: 1, data: [row('inc_1', null), row('inc_2', 'where')] };
const bodies = () => api.requests.map(({ body }) => String(body)).filter((body) => body !== '');

refusesUsage(api, [
  ['endpoints test-filter', '--tenant is missing'],
  ['endpoints test-filter --tenant TX --payload {}', '"type" and "data"'],
  ['endpoints test-filter --tenant TX --payload {', 'not JSON'],
  ['endpoints test-filter --tenant TX --limit 0', 'not a whole number from 1'],
]);

test('test-filter says which incidents pass, and how many', async () => {
  api.on('POST /webhook/filters/test', json(tried));
  const { stdout, stderr } = await cli([
    ...'endpoints test-filter --tenant TX --event incident.* --where'.split(' '),
    'score >= 0.9',
  ]);
  expect(stdout).toContain('inc_2\t2026-03-05T10:00:00.000000Z\tincident.created');
  expect(stdout).toContain('no: filtered out');
  expect(stderr).toContain('1 of 2 incidents passes · 1 filtered out');
  expect(JSON.parse(bodies()[0] ?? '')).toEqual({
    tenant: 'TX',
    event_types: ['incident.*'],
    where: 'score >= 0.9',
  });
});

test('what an endpoint wants is tried, but for what is given, and a payload as it is spelled', async () => {
  const endpoint = { tenant: 'TX', event_types: ['a.b'], stores: ['DFW'], where: 'x = 1' };
  api.on('GET /webhook/endpoints/ep_1', json(endpoint));
  api.on('POST /webhook/filters/test', json({ looked_at: 1, passed: 1, data: [row(null, null)] }));
  const payload = '{"type":"a.b","timestamp":"2026-03-05T10:00:00Z","data":{"n":9007199254740993}}';
  await ends(
    cli('endpoints test-filter ep_1 --store * --payload -', { stdin: payload }),
    0,
    /given/,
    [],
  );
  expect(bodies()[0]).toBe(
    '{"tenant":"TX","event_types":["a.b"],"where":"x = 1","incident":{"type":"a.b","occurred_at":"2026-03-05T10:00:00Z","data":{"n":9007199254740993}}}',
  );
  expect(await jsonOf('endpoints test-filter ep_1 --json')).toMatchObject({ looked_at: 1 });
});
