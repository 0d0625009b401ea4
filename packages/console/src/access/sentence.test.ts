import { expect, it } from 'vitest';
import { namesIn, sentenceOf } from './sentence.ts';

const entry = (action: string, more: object = {}) => ({
  action,
  target: null,
  tenants: null,
  before: null,
  after: null,
  ...more,
});
const endpoint = { target: 'ep_0123456789abcdef', tenants: ['TX'] };
const url = 'https://hooks.acme.example/in';

it.each([
  [
    entry('endpoint.delete', { ...endpoint, before: { url, name: 'x' }, after: { discarded: 3 } }),
    `deleted the endpoint ${url} of TX`,
  ],
  [
    entry('endpoint.change', {
      ...endpoint,
      before: { url, enabled: true },
      after: { enabled: false },
    }),
    `disabled the endpoint ${url} of TX`,
  ],
  [
    entry('endpoint.change', {
      ...endpoint,
      before: { url, enabled: true },
      after: { enabled: true },
    }),
    `changed the endpoint ${url} of TX`,
  ],
  [entry('endpoint.ping', endpoint), 'pinged the endpoint ep…cdef of TX'],
  [
    entry('token.create', { tenants: ['TX', 'CA'], after: { name: 'Kim' } }),
    'made the token Kim of TX, CA',
  ],
  [
    entry('tag.create', {
      tenants: ['TX'],
      after: {
        tenant: 'TX',
        store: 'DFW',
        from: '2001-01-01',
        to: '2001-01-31',
        dataset: 'fine_tuning',
      },
    }),
    'tagged TX › DFW › 2001-01-01 – 2001-01-31 as fine-tuning',
  ],
  [
    entry('export.csv', { after: { tenant: 'TX', month: '2001-01' } }),
    'downloaded TX › 2001-01 as csv',
  ],
  [entry('retention.policy.set', { tenants: ['TX'] }), 'set the retention of TX'],
  [
    entry('approval.ask', { target: 'apr_1', after: { says: 'Erases 3 records of TX.' } }),
    'asked somebody else to confirm: Erases 3 records of TX.',
  ],
  [entry('session.end_all', { after: 'all' }), 'ended all sessions'],
  [entry('moon.land', { target: 'crater', tenants: [] }), 'moon.land crater'],
])('tells %o as a sentence', (told, text) => {
  expect(sentenceOf(told)).toBe(text);
});

it('calls an id as another entry calls it', () => {
  const names = namesIn([
    entry('endpoint.ping', endpoint),
    entry('endpoint.create', { ...endpoint, after: { url } }),
  ]);
  expect(sentenceOf(entry('endpoint.ping', endpoint), names)).toBe(
    `pinged the endpoint ${url} of TX`,
  );
});
