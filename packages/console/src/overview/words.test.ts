import { expect, test } from 'vitest';
import type { RecordsOverview } from '../api/types.ts';
import { describeChange, describeTrouble, describeWork } from './words.ts';

test('a trouble is told in the words of the service, or by its kind by one that has none', () => {
  const kind = 'endpoints_failing';
  const words = { text: '2 endpoints failing', place: '#/endpoints' };
  expect(describeTrouble({ kind, ...words })).toEqual({ text: words.text, href: words.place });
  expect(describeTrouble({ kind })).toEqual({ text: kind, href: '#/' });
});

test.each([
  ['running', 41, 100, '41 %'],
  ['running', 41, null, 'running'],
  ['queued', 0, 100, 'queued'],
  ['running', 120, 100, '100 %'],
] as const)('work that is %s, %s of %s, is at %s', (state, done, total, far) => {
  const work = { kind: 'export', id: 'exp_1', state, tenant: 'TX', done, total } as const;
  expect(describeWork(work)).toMatchObject({ name: 'export TX', far });
});

test.each([
  [103, 100, '+3 % on last Thursday until now'],
  [40, 100, '−60 % on last Thursday until now'],
  [100, 100, 'as last Thursday until now'],
  [5, 0, 'none last Thursday until now'],
  [0, 0, 'none, as last Thursday'],
  [5, null, 'nothing to compare yet'],
])('%s today and %s a week ago are: %s', (count, weekAgo, words) => {
  const records = {
    today: { count, week_ago: weekAgo },
    hours: { from: '2026-03-05T00:00:00.000000Z', count: [] },
  } as unknown as RecordsOverview;
  expect(describeChange(records)).toBe(words);
});
