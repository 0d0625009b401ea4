import { expect, test } from 'vitest';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { inTurn, problem } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli, jsonOf } = prepareCli();

const page = (count: number, next_cursor: string | null) => ({
  ...{ count, bytes: count * 500, looked: 250_000, next_cursor },
  searched_to: next_cursor === null ? null : { store: 'DFW', day: '2001-01-05' },
});
const offer = () =>
  api.on('GET /enrichment/records/count', inTurn(page(2_000, 'c1'), page(0, 'c2'), page(10, null)));

refusesUsage(api, [
  ['records count', '--tenant is missing'],
  ['records count --tenant TX --json rows', 'there is no field'],
]);

test('adds up the stretches of a slice, with the same filters each', async () => {
  offer();
  const words = 'records count --tenant TX --month 2001-01 --dataset training'.split(' ');
  const { stdout } = await cli([...words, '--where', 'score >= 0.9'], { isTerminal: true });
  expect(stdout).toBe('2,010 records of 750,000 records (1.0 MB)\n');
  const filters = { tenant: 'TX', month: '2001-01', dataset: 'training', where: 'score >= 0.9' };
  expect(api.requests.map(({ query }) => query)).toEqual([
    filters,
    { ...filters, cursor: 'c1' },
    { ...filters, cursor: 'c2' },
  ]);
  offer();
  expect(await jsonOf('records count --tenant TX --kind a --json count,looked')).toEqual({
    count: 2_010,
    looked: 750_000,
  });
});

test('tells what is wrong with a where', async () => {
  api.on(
    'GET /enrichment/records/count',
    problem(400, 'request_invalid', 'where, at character 3: expected a value'),
  );
  await ends(cli('records count --tenant TX --where a='), 2, ['at character 3: expected a value']);
});
