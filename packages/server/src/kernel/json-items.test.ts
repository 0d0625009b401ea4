import fc from 'fast-check';
import { expect, test } from 'vitest';
import { elementsOf, JsonItems, membersOf, NotJson } from './json-items.ts';

test('the parts of any JSON are the texts it is made of', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = JSON.stringify({ list: [value, value], value }, null, space);
      const members = membersOf(text);
      expect([...members.keys()]).toEqual(['list', 'value']);
      expect(JSON.parse(members.get('value') ?? '')).toEqual(JSON.parse(JSON.stringify(value)));
      const elements = elementsOf(members.get('list') ?? '');
      expect(elements).toHaveLength(2);
      const items = new JsonItems(text);
      expect([items.next(), items.elements, items.value]).toEqual([
        true,
        elements,
        members.get('list'),
      ]);
      expect([items.next(), items.name]).toEqual([true, 'value']);
    }),
  );
});

test('numbers keep their spelling and their digits', () => {
  const text = '{"big":12345678901234567890,"s":"a\\\\\\"]}"}';
  expect(membersOf(text).get('big')).toBe('12345678901234567890');
  expect(membersOf(text).get('s')).toBe('"a\\\\\\"]}"');
});

test.each(['', 'null', '{"a"', '{"a":}', '{"a":1 "b":2}', '["', '{"a":[1}', '<html>'])(
  'what is not the JSON it should be is refused: %s',
  (text) => {
    expect(() => membersOf(text)).toThrow(NotJson);
  },
);
