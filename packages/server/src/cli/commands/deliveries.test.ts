import { expect, test } from 'vitest';
import { prepareCli } from '../testing/prepare-cli.ts';
import { pages } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli } = prepareCli();

test('deliveries ls asks with its filters and says how to see the rest', async () => {
  const row = JSON.stringify({
    id: 'dlv_1',
    target: 'https://hooks.acme.example/in',
    status: 'delivered',
    attempts: 1,
  });
  api.on('GET /webhook/deliveries', pages([row], [row]));
  const filters =
    '--status delivered --tenant TX --endpoint ep_1 --incident inc_1 --type incident.* --class status --code 5xx --id msg_1 --text 14 --from 2026-03-01 --to 2026-03-05';
  const { stderr } = await cli(`deliveries ls ${filters} --limit 1`, { isTerminal: true });
  const all = await cli('deliveries ls --all --json', { isTerminal: true });
  expect(JSON.parse(all.stdout)).toHaveLength(2);
  api.requests.splice(1);
  await ends(cli('deliveries ls --all --limit 1'), 2, ['cannot be used with option']);
  expect(stderr).toBe('1 delivery · more: --all · one: svcctl dlq show dlv_…\n');
  expect(api.requests.map(({ query }) => query)).toEqual([
    {
      status: 'delivered',
      tenant: 'TX',
      endpoint_id: 'ep_1',
      incident_id: 'inc_1',
      type: 'incident.*',
      failure_class: 'status',
      last_status: '5xx',
      id: 'msg_1',
      text: '14',
      from: '2026-03-01',
      to: '2026-03-05',
      limit: '1',
    },
  ]);
});

test('deliveries ls asks from a span ago on with that end alone', async () => {
  api.on('GET /webhook/deliveries', pages([]));
  await cli('deliveries ls --from 2h');
  expect(api.requests.at(-1)?.query).toMatchObject({
    from: '2026-03-05T10:00:00.000000Z',
    to: '2999-12-31',
  });
});
