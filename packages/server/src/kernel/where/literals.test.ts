import { expect, test } from 'vitest';
import { maskLiterals, namesAny } from './literals.ts';

test.each([
  ['person.id = "p-17"', 'person.id = "…"'],
  ['a1.b2 in (17, -2.5e+3, "x \\" y") and not exists c', 'a1.b2 in (…, …, "…") and not exists c'],
  ['track-7.id != null or any tags ilike "%kim%"', 'track-7.id != null or any tags ilike "…"'],
  ['not what "it ought to be', 'not what "…"'],
])('of %s nothing is left that may name somebody', (where, masked) => {
  expect(maskLiterals(where)).toBe(masked);
});

test('a value is found as it is read, not as it is spelled, and not in the name of a field', () => {
  expect(namesAny('id = "\\u006bim \\"4711\\""', ['kim "4711"'])).toBe(true);
  expect(namesAny('id = 4711', ['4711'])).toBe(true);
  expect(namesAny('id ilike "kim-4711%"', ['ada', 'kim-4711'])).toBe(true);
  expect(namesAny('kim = "ada"', ['kim'])).toBe(false);
});
