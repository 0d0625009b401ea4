import { expect, test } from 'vitest';
import { maskLiterals, mentions, namesAny } from './literals.ts';

test.each([
  ['person.id = "p-17"', 'person.id = "…"'],
  ['a1.b2 in (17, -2.5e+3, "x \\" y") and not exists c', 'a1.b2 in (…, …, "…") and not exists c'],
  ['track-7.id != null or any tags ilike "%kim%"', 'track-7.id != null or any tags ilike "…"'],
  ['not what "it ought to be', 'not what "…"'],
])('of %s nothing is left that may name somebody', (where, masked) => {
  expect(maskLiterals(where)).toBe(masked);
});

test.each<[string, string, boolean]>([
  ['id = "\\u006bim \\"4711\\""', 'kim "4711"', true],
  ['kim = "ada"', 'kim', false],
  ['id in ("ada", "kim-4711")', 'kim-4711', true],
  ['id = "kim-47110"', 'kim-4711', false],
  ['id = "about kim"', 'kim', false],
  ['id = 4711', '4711', true],
  ['id = 4711.0', '4711', true],
  ['id = 47110', '4711', false],
  ['id = 1234567890123456790', '1234567890123456789', false],
  ['id = 0', ' ', false],
  ['id ilike "KIM-4711%"', 'kim-4711', true],
  ['id ilike "%kim\\\\_4711"', 'kim_4711', true],
  ['id ilike "%kim-47110%"', 'kim-4711', false],
])('a value is found as it is read, and whole: %s and %s', (where, name, isNamed) => {
  expect(namesAny(where, ['nobody', name])).toBe(isNamed);
});

test.each<[string, string, boolean]>([
  ['asks: kim.', 'kim', true],
  ['kim@acme.example asks', 'kim@acme.example', true],
  ['e-1 and e-11', 'e-11', true],
  ['only e-11', 'e-1', false],
  ['the kimono and 77', 'kim', false],
  ['the kimono and 77', '7', false],
  ['kimkim or kim', 'kim', true],
  ['Zoë’s', 'Zo', false],
  ['anything', '', false],
  ['刪除王小明的資料', '王小明', true],
])('%s mentions %s: %s', (text, name, isMentioned) => {
  expect(mentions(text, name)).toBe(isMentioned);
});
