import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readMember } from './json-member.ts';

test.each([
  ['{"data":12345678901234567890}', '12345678901234567890'],
  ['{ "a" : 1 , "data" : { "n" : 1e400, "x": [ 0.10 , "a b" ] } }', '{"n":1e400,"x":[0.10,"a b"]}'],
  ['{"a":{"data":1},"b":2}', undefined],
  ['{"data":1,"data":2}', '2'],
  ['{"d\\u0061ta":true}', 'true'],
  ['{"ä€😀":"ü","data":"ö😀"}', '"ö😀"'],
  ['{"data":"\\ud800\\u0000"}', '"\\ud800\\u0000"'],
  ['{}', undefined],
  ['[1]', undefined],
])('of %s data is %s', (text, source) => {
  expect(readMember(text, 'data').source).toBe(source);
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
          expect(readMember(text, name)).toEqual({
            source: JSON.stringify(value),
            repeated: undefined,
          });
        }
      },
    ),
  );
});

test.each([
  ['{"a":1,"b":2}', undefined],
  ['{"a":{"b":1,"b":2},"b":1}', undefined],
  ['{"a":1,"b":2,"a":1}', 'a'],
  ['{"tenant":"T","ten\\u0061nt":"U"}', 'tenant'],
])('of %s the name %s stands more than once', (text, repeated) => {
  expect(readMember(text, 'data').repeated).toBe(repeated);
});
