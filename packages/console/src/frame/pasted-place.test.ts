import { expect, test } from 'vitest';
import { parsePlace } from './pasted-place.ts';

const origin = 'https://svcctl.example';
const key = 'TX/DFW/2001-03-01T00:05:00.000000Z/fl/0812';
const hash = `#/records?tenant=TX&store=DFW&month=2001-03&panel=record/${key}`;

test('a copied link of this console leads to its place', () => {
  const href = '#/records?tenant=TX&q=a%20b';
  const link = { type: 'link', name: href.slice(1), href };
  expect(parsePlace(` ${origin}/${href} `, origin)).toEqual(link);
  expect(parsePlace(href, origin)).toEqual(link);
});

test('a record is found by its identity and by its link in the API, in its month', () => {
  const record = { type: 'record', name: key, href: hash };
  expect(parsePlace(key, origin)).toEqual(record);
  const params = new URLSearchParams({
    tenant: 'TX',
    store: 'DFW',
    occurred_at: '2001-03-01T00:05:00.000000Z',
    event_id: 'fl/0812',
  });
  expect(parsePlace(`${origin}/api/v1/enrichment/records/one?${params}`, origin)).toEqual(record);
});

test.each([
  '',
  'TX',
  'TX/DFW',
  'TX/DFW/2001-03',
  'TX/DFW/2001-03/x',
  'https://elsewhere.example/#/records?tenant=TX',
  `${origin}/docs`,
  `${origin}/#`,
  'javascript:alert(1)',
  '#//elsewhere.example',
])('%j is no place', (text) => {
  expect(parsePlace(text, origin)).toBeUndefined();
});
