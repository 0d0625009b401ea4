import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/runs.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

const key = Buffer.alloc(32, 1);
const scope = { list: 'records', filters: { tenant: 'TX', store: undefined } };
const position = {
  direction: 'next',
  key: ['TX', 'DFW', '2001-03-01T00:00:00.000000Z', 'e1'],
} as const;

test('gives back the position it was made with', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('next' as const, 'prev' as const),
      fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }),
      fc.boolean(),
      (direction, names, isInclusive) => {
        const cursor = encodeCursor(key, scope, { direction, key: names, isInclusive });
        expect(decodeCursor(key, scope, cursor)).toEqual({ direction, key: names, isInclusive });
      },
    ),
  );
});

test('refuses any changed character', () => {
  const cursor = encodeCursor(key, scope, position);
  fc.assert(
    fc.property(
      fc.nat({ max: cursor.length - 1 }),
      fc.constantFrom(...'Az09-_.= '),
      (at, character) => {
        const tampered = cursor.slice(0, at) + character + cursor.slice(at + 1);
        if (tampered === cursor) return;
        expect(() => decodeCursor(key, scope, tampered)).toThrow('cursor_invalid');
      },
    ),
    { numRuns: runs(500) },
  );
});

test.each([
  ['another filter', { list: 'records', filters: { tenant: 'CA' } }],
  ['one more filter', { list: 'records', filters: { tenant: 'TX', store: 'DFW' } }],
  ['no filter', { list: 'records', filters: {} }],
  ['another list', { list: 'datasets', filters: { tenant: 'TX' } }],
])('refuses a cursor shown with %s', (_name, other) => {
  expect(() => decodeCursor(key, other, encodeCursor(key, scope, position))).toThrow(
    'cursor_invalid',
  );
});

test('does not depend on the order in which filters are named', () => {
  const one = { list: 'x', filters: { a: '1', b: '2' } };
  const two = { list: 'x', filters: { b: '2', a: '1' } };
  expect(decodeCursor(key, two, encodeCursor(key, one, position))).toMatchObject(position);
});

test.each(['', 'AAAA', 'not a cursor', '=====', 'A'.repeat(200)])('refuses %j', (text) => {
  expect(() => decodeCursor(key, scope, text)).toThrow('cursor_invalid');
});

test('refuses a cursor of another signing key', () => {
  const cursor = encodeCursor(Buffer.alloc(32, 2), scope, position);
  expect(() => decodeCursor(key, scope, cursor)).toThrow('cursor_invalid');
});
