import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compactMember, indentJson, pickMembers, repeatedName } from './json-slices.ts';

test('any JSON that is indented says the same', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = JSON.stringify({ list: [value, value], value }, null, space);
      expect(JSON.parse(indentJson(text))).toEqual(JSON.parse(text));
    }),
  );
});

test('numbers keep their spelling and their digits', () => {
  const text = '{"big":12345678901234567890,"exact":0.10,"e":1.0E+5,"s":"a\\\\\\"]}"}';
  expect(pickMembers(text, ['exact', 'none', 'e'])).toBe('{"exact":0.10,"none":null,"e":1.0E+5}');
  expect(indentJson(text)).toContain('"big": 12345678901234567890,\n');
});

test.each([
  ['{"data":12345678901234567890}', '12345678901234567890'],
  ['{ "a" : 1 , "data" : { "n" : 1e400, "x": [ 0.10 , "a b" ] } }', '{"n":1e400,"x":[0.10,"a b"]}'],
  ['{"a":{"data":1},"b":2}', undefined],
  ['{"data":1,"data":2}', '2'],
  ['{"d\\u0061ta":true}', 'true'],
  ['{"ä€😀":"ü","data":"ö😀"}', '"ö😀"'],
  ['{"data":"\\ud800\\u0000"}', '"\\ud800\\u0000"'],
  ['{}', undefined],
])('of %s data is %s', (text, source) => {
  expect(compactMember(text, 'data')).toBe(source);
});

test('finds what JSON.parse finds, in any object', () => {
  const spaces = fc.constantFrom(undefined, 1, '\t');
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
      spaces,
      (object, space) => {
        const text = JSON.stringify(object, null, space);
        for (const [name, value] of Object.entries(JSON.parse(text))) {
          expect(compactMember(text, name)).toBe(JSON.stringify(value));
        }
      },
    ),
  );
});

test.each([
  ['{"a":1,"b":2}', undefined],
  ['[{"a":1,"a":2}]', undefined],
  ['null', undefined],
  ['{"a":{"b":1,"b":2},"b":1}', undefined],
  ['{"a":1,"b":2,"a":1}', 'a'],
  ['{"tenant":"T","ten\\u0061nt":"U"}', 'tenant'],
])('of %s the name %s stands more than once', (text, repeated) => {
  expect(repeatedName(text)).toBe(repeated);
});
