import { expect, test } from 'vitest';
import { nearestOf } from './nearest.ts';

const types = ['incident.created', 'incident.updated', 'incident.resolved', 'order.paid'];

test.each([
  ['incident.craeted', 'incident.created'],
  ['incident.create', 'incident.created'],
  ['incidents.updated', 'incident.updated'],
  ['order.payd', 'order.paid'],
  ['incident.deleted', undefined],
  ['a.b', undefined],
])('of %s it finds %s', (typed, meant) => {
  expect(nearestOf(typed, types)).toBe(meant);
});

test('of several it takes the nearest', () => {
  expect(nearestOf('abcdefg', ['abcdeXY', 'abcdefX'])).toBe('abcdefX');
});
