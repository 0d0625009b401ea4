import { expect, test } from 'vitest';
import type { DescribedField, Field, Fields } from '../../contract.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';

const { api, cli, jsonOf } = prepareCli();

refusesUsage(api, [['records fields --tenant TX --month 2001-13', 'is not a month']]);

const exactly = (share: number) => ({ share, low: share, high: share });

const described = (change: Partial<DescribedField>): DescribedField => ({
  present: exactly(1),
  nulls: exactly(0),
  missing: exactly(0),
  types: [{ type: 'text', ...exactly(1) }],
  numbers: null,
  distinct: 1,
  values: [],
  ...change,
});

const delay = described({
  present: { share: 0.8, low: 0.776, high: 0.822 },
  types: [{ type: 'number', ...exactly(0.8) }],
  distinct: 90,
  numbers: {
    count: 8000,
    beyond: 0,
    min: -20,
    max: 200,
    buckets: [],
    quantiles: [5, 25, 50, 75, 95].map((percent) => ({
      percent,
      value: percent + 0.123456,
      low: 0,
      high: 0,
    })),
  },
});
const label = described({
  present: exactly(0.9),
  distinct: 24,
  values: ['late', 'ok\u001b[31m', 'x', 'y'].map((value, n) => ({
    value,
    count: 4000 - n,
    ...exactly(0.4 - n / 10),
  })),
});
const fieldOf = (name: string, of: DescribedField, more: Partial<Field> = {}): Field => ({
  name,
  of: 'enrichment',
  ...of,
  over_time: [],
  against: null,
  drift: null,
  ...more,
});

const answer: Fields = {
  count: 93_233,
  sampled: 10_000,
  is_exact: false,
  unread: 0,
  periods: [],
  fields: [fieldOf('delay', delay), fieldOf('label', label)],
  left_off: 0,
  against: null,
  fitting: null,
};

test('fields is a table of what is typical on a terminal, whose shares are all of the records', async () => {
  api.on('GET /enrichment/fields', json(answer));
  const words = 'records fields --tenant TX --store DFW --month 2001-03';
  const { stdout, stderr } = await cli(words, { isTerminal: true });
  expect(stdout).toBe(
    'FIELD  TYPE    PRESENT  TYPICAL\n' +
      'delay  number  80 % ±3  50.12 (5.123 … 95.12)\n' +
      'label  text       90 %  late 40 %, ok [31m 30 %, x 20 % of 24 values\n',
  );
  expect(stderr).toBe('2 fields · a sample of 10,000 of 93,233 records\n');
  expect(api.requests[0]?.query).toEqual({ tenant: 'TX', store: 'DFW', month: '2001-03' });
});

test('with --against the drift and what chance makes of it stand beside it', async () => {
  const drifted = [
    fieldOf('delay', delay, { against: label, drift: { distance: 0.51234, noise: 0.02 } }),
    fieldOf('label', label, { against: described({}), drift: { distance: 0, noise: 0 } }),
  ];
  const look = { count: 1, sampled: 1, is_exact: true, unread: 0, fitting: null };
  const whole = { ...answer, fields: drifted, left_off: 7, unread: 2, against: look };
  api.on('GET /enrichment/fields', json(whole));
  const words = 'records fields --tenant TX --month 2001-03 --against 2001-02';
  const { stdout, stderr } = await cli(words, { isTerminal: true, columns: 160 });
  expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/).slice(-2))).toEqual([
    ['DRIFT', 'BY CHANCE'],
    ['0.512', '< 0.020'],
    ['0.000', '0'],
    [''],
  ]);
  expect(stderr).toBe(
    '2 fields · 7 or more left off · a sample of 10,000 of 93,233 records · against all 1 record · 2 records too large to be looked at\n',
  );
  expect(api.requests[0]?.query).toMatchObject({ against: '2001-02' });
  expect(await jsonOf(`${words} --json`)).toEqual(whole);
  expect((await cli(words)).stdout.split('\n')[0]).toBe(
    'delay\tnumber\t0.8\t50.12 (5.123 … 95.12)\tlate 40 %, ok [31m 30 %, x 20 % of 24 values\t0.51234\t0.02',
  );
});

test('with a where the line below says how many fit', async () => {
  const fitting = { share: 0.12, low: 0.105, high: 0.137 };
  api.on('GET /enrichment/fields', json({ ...answer, sampled: 1_200, fitting }));
  const words = ['records', 'fields', '--tenant', 'TX', '--where', 'delay > 9'];
  const { stderr } = await cli(words, { isTerminal: true });
  expect(stderr).toBe('2 fields · a sample of 1,200 of 93,233 records, of which 12 % ±2 fit\n');
  expect(api.requests[0]?.query).toEqual({ tenant: 'TX', where: 'delay > 9' });
});

test('an empty slice says why', async () => {
  api.on('GET /enrichment/fields', json({ ...answer, count: 0, fields: [] }));
  api.on('GET /enrichment/datasets', json({ data: [], next_cursor: null }));
  const { code, stderr } = await cli('records fields --tenant nobody');
  expect(code).toBe(0);
  expect(stderr).toContain('no record matches. There is no tenant nobody');
});
