import { expect, test } from 'vitest';
import { prepareCli } from '../testing/prepare-cli.ts';
import { inTurn } from '../testing/receiver.ts';

const { api, cli, jsonOf } = prepareCli();

const page = (count: number, next_cursor: string | null) => ({
  count,
  bytes: count * 500,
  looked: 250_000,
  next_cursor,
  searched_to: next_cursor === null ? null : { store: 'DFW', day: '2001-01-05' },
});
const offer = () =>
  api.on('GET /enrichment/records/count', inTurn(page(2_000, 'c1'), page(0, 'c2'), page(10, null)));

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
