import fc from 'fast-check';
import { expect, test } from 'vitest';
import { elementsOf, indentJson, membersOf, pickMembers } from './json-slices.ts';

test('the parts of any JSON are the texts it is made of', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = JSON.stringify({ list: [value, value], value }, null, space);
      const members = membersOf(text);
      expect([...members.keys()]).toEqual(['list', 'value']);
      expect(JSON.parse(members.get('value') ?? '')).toEqual(JSON.parse(JSON.stringify(value)));
      const elements = elementsOf(members.get('list') ?? '');
      expect(elements).toHaveLength(2);
      expect(JSON.parse(indentJson(text))).toEqual(JSON.parse(text));
    }),
  );
});

test('numbers keep their spelling and their digits', () => {
  const text = '{"big":12345678901234567890,"exact":0.10,"e":1.0E+5,"s":"a\\\\\\"]}"}';
  expect(membersOf(text).get('big')).toBe('12345678901234567890');
  expect(membersOf(text).get('s')).toBe('"a\\\\\\"]}"');
  expect(pickMembers(text, ['exact', 'none', 'e'])).toBe('{"exact":0.10,"none":null,"e":1.0E+5}');
  expect(indentJson(text)).toContain('"big": 12345678901234567890,\n');
});

test.each(['', 'null', '{"a"', '{"a":}', '{"a":1 "b":2}', '["', '{"a":[1}', '<html>'])(
  'what is not the JSON it should be throws answer_unexpected: %s',
  (text) => {
    expect(() => membersOf(text)).toThrow('answer_unexpected');
  },
);
