import { expect, test } from 'vitest';
import { deliveryHref, inList, validateDlqSearch, validateEndpointsSearch } from './search.ts';

test('what a hash cannot mean is dropped, and the rest is kept', () => {
  expect(validateDlqSearch({ view: 'x', q: '', other: 'y' })).toEqual({});
  const dlq = { status: 'pending', tenant: 'TX', endpoint: 'e', failure: 'dns', view: 'groups' };
  expect(validateDlqSearch(dlq)).toEqual(dlq);
});

test('a link of an earlier release opens the form of an endpoint', () => {
  expect(validateEndpointsSearch({ edit: 5, tenant: null })).toEqual({ panel: 'endpoint/5' });
});

test.each([
  ['incident.', 'incident.*'],
  ['incident.*', 'incident.*'],
  ['incident.created', 'incident.created'],
  ['*', '*'],
])('%s is in a list of types %s', (typed, listed) => {
  expect(inList(typed)).toBe(listed);
});

test('a delivery is followed among those of its endpoint', () => {
  expect(deliveryHref('dlv_1')).toBe('#/deliveries?panel=delivery/dlv_1');
  expect(deliveryHref('dlv_1', 'a&b')).toBe('#/deliveries?endpoint=a%26b&panel=delivery/dlv_1');
});
