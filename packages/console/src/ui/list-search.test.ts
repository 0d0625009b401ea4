import { expect, test } from 'vitest';
import { changeOf, listParams, readList } from './list-search.ts';

const day = { isDay: true } as const;
const filters = {
  tenant: {},
  endpoint: { param: 'endpoint_id', within: 'tenant' },
  state: { choices: ['on', 'off'] },
  from: day,
  to: day,
} as const;

test('what a hash cannot mean is dropped, and the rest is kept', () => {
  const raw = { tenant: 42, state: 'lost', from: '2026-13-01', to: '2026-03-01', colour: 'red' };
  expect(readList({ ...raw, cursor: 'c', panel: 'x/1' }, filters, ['row'])).toEqual({
    tenant: '42',
    to: '2026-03-01',
    cursor: 'c',
  });
  expect(readList({ state: 'off', open: '1' }, filters, ['row'], { open: 'row' })).toEqual({
    state: 'off',
    panel: 'row/1',
  });
});

test('a list by time takes times beside days', () => {
  const time = { ...day, isTime: true } as const;
  const times = { from: '2026-03-05T10:00:00Z', to: '2026-03-05' };
  expect(readList(times, { from: time, to: time }, [])).toEqual(times);
  expect(
    readList({ ...times, from: '2026-03-05T24:00:00Z' }, { from: time, to: time }, []),
  ).toEqual({ to: '2026-03-05' });
  expect(readList(times, filters, [])).toEqual({ to: '2026-03-05' });
});

test('a filter takes with it those within it, and the cursor', () => {
  expect(changeOf(filters, { tenant: 'TX' })).toEqual({ tenant: 'TX' });
  expect(Object.keys(changeOf(filters, { tenant: 'TX' }))).toEqual([
    'endpoint',
    'cursor',
    'tenant',
  ]);
  expect(Object.keys(changeOf(filters, { state: 'on' }))).toEqual(['cursor', 'state']);
});

test('the API is asked for a page by its own names, and for both ends of the days', () => {
  expect(listParams(filters, { endpoint: 'ep_1', from: '2026-03-01', cursor: 'c' })).toEqual({
    endpoint_id: 'ep_1',
    from: '2026-03-01',
    to: '2999-12-31',
    cursor: 'c',
    limit: 100,
  });
});
