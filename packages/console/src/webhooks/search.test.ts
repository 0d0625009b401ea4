import { expect, test } from 'vitest';
import {
  deliveryHref,
  validateDeliveriesSearch,
  validateDlqSearch,
  validateEndpointsSearch,
  validateIncidentsSearch,
} from './search.ts';

test('what a hash cannot mean is dropped', () => {
  expect(validateDlqSearch({ status: 'delivered', view: 'x', q: '', other: 'y' })).toEqual({});
  expect(validateDeliveriesSearch({ status: 'gone', tenant: {} })).toEqual({});
  expect(validateIncidentsSearch({ deliveries: 'all', from: '2026-13-01', panel: 'x' })).toEqual(
    {},
  );
  expect(validateEndpointsSearch({ edit: 5, tenant: null })).toEqual({ panel: 'endpoint/5' });
});

test('what a hash means is kept', () => {
  const dlq = { status: 'pending', tenant: 'TX', endpoint: 'e', failure: 'dns', view: 'groups' };
  expect(validateDlqSearch(dlq)).toEqual(dlq);
  const deliveries = { status: 'delivered', incident: 'i', cursor: 'c', panel: 'delivery/d' };
  expect(validateDeliveriesSearch(deliveries)).toEqual(deliveries);
  const incidents = { type: 'incident.', store: 'S', from: '2026-03-01', deliveries: 'failed' };
  expect(validateIncidentsSearch(incidents)).toEqual(incidents);
});

test('a delivery is followed among those of its endpoint', () => {
  expect(deliveryHref('dlv_1')).toBe('#/deliveries?panel=delivery/dlv_1');
  expect(deliveryHref('dlv_1', 'a&b')).toBe('#/deliveries?endpoint=a%26b&panel=delivery/dlv_1');
});
