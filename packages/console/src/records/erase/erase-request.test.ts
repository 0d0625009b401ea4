import { expect, test } from 'vitest';
import { confirmWord, requestOf, scopeOfRecord, scopeText } from './erase-request.ts';

const leaf = { tenant: 'TX', store: 'DFW', month: '2001-02' };
const record = 'TX/DFW/2001-03-01T00:05:00.000000Z/fl/0812';

test.each([
  [{ tenant: 'TX' }, { tenant: 'TX', from: '1970-01-01', to: '2999-12-31' }],
  [
    { tenant: 'TX', store: 'DFW' },
    { tenant: 'TX', store: 'DFW' },
  ],
  [leaf, { tenant: 'TX', store: 'DFW', from: '2001-02-01', to: '2001-02-28' }],
  [
    { tenant: 'TX', from: '2001-02-03', to: '2001-02-04' },
    { tenant: 'TX', from: '2001-02-03', to: '2001-02-04' },
  ],
  [
    { ...leaf, eventId: 'e' },
    { tenant: 'TX', store: 'DFW', event_ids: ['e'], from: '2001-02-01', to: '2001-02-28' },
  ],
  [
    { tenant: 'TX', eventId: 'e' },
    { tenant: 'TX', event_ids: ['e'] },
  ],
  // All days, and so of incidents those that name nobody, must not come with it.
  [
    { tenant: 'TX', subject: { field: 'passenger.email', value: 'kim@example.com' } },
    { tenant: 'TX', subject: { field: 'passenger.email', value: 'kim@example.com' } },
  ],
])('%j is asked for as %j', (scope, request) => {
  expect(requestOf(scope)).toEqual(request);
});

test.each([
  ['day', 'TX › DFW › 2001-03-01 · event fl/0812'],
  ['store', 'TX › DFW · event fl/0812'],
  ['tenant', 'TX · event fl/0812'],
] as const)('the event of a record within its %s is %s', (reach, text) => {
  const scope = scopeOfRecord(record, reach);
  expect(scope && scopeText(scope)).toBe(text);
  expect(scope && requestOf(scope).event_ids).toEqual(['fl/0812']);
});

test('a text that names no record has no scope', () => {
  expect(scopeOfRecord('TX/DFW', 'day')).toBeNull();
});

test.each([
  [{ tenant: 'TX' }, 'TX'],
  [leaf, 'TX/DFW/2001-02'],
  [{ tenant: 'TX', from: '2001-02-03', to: '2001-02-05' }, 'TX/2001-02-03..2001-02-05'],
  [{ ...leaf, eventId: 'fl/0812' }, 'fl/0812'],
  [{ ...leaf, subject: { field: 'passenger.email', value: 'kim@x' } }, 'kim@x'],
])('%j is confirmed by %s', (scope, word) => {
  expect(confirmWord(scope)).toBe(word);
});
