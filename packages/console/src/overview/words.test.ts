import { describe, expect, it, test } from 'vitest';
import type { RecordsOverview } from '../api/types.ts';
import { describeChange, describeTrouble, describeWork } from './words.ts';

describe('describeTrouble', () => {
  it('leads to where it is mended', () => {
    const of = { count: 2, id: 'x_1' };
    expect(describeTrouble({ kind: 'endpoints_failing', ...of })).toEqual({
      text: '2 endpoints failing',
      href: '#/endpoints',
    });
    expect(describeTrouble({ kind: 'verification_differs', ...of }).href).toBe(
      '#/retention?panel=verification/x_1',
    );
    expect(describeTrouble({ kind: 'run_failed', ...of }).href).toBe(
      '#/retention?view=journal&run=x_1',
    );
  });
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
  [5, null, 'compared from next week on'],
])('%s today and %s a week ago are: %s', (count, weekAgo, words) => {
  const records = {
    today: { count, week_ago: weekAgo },
    hours: { from: '2026-03-05T00:00:00.000000Z', count: [] },
  } as unknown as RecordsOverview;
  expect(describeChange(records)).toBe(words);
});
