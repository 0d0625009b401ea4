import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readElements, readMembers } from '../ui/json-source.ts';

describe('readMembers', () => {
  it('cuts values out as they are spelled', () => {
    const members = readMembers('{ "a" : 0.10 , "b\\"":{"c":[1,"}"]},"d":null}');
    expect([...members]).toEqual([
      ['a', '0.10'],
      ['b"', '{"c":[1,"}"]}'],
      ['d', 'null'],
    ]);
    expect(readMembers('{}').size).toBe(0);
  });

  it('reads any object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const read = [...readMembers(JSON.stringify(object, null, 1))];
        expect(read.map(([key, value]) => [key, JSON.parse(value)])).toEqual(
          Object.entries(JSON.parse(JSON.stringify(object))),
        );
      }),
    );
  });

  it('refuses what is cut', () => {
    expect(() => readMembers('{"a":[1')).toThrow(SyntaxError);
    expect(() => readMembers('{"a')).toThrow(SyntaxError);
  });
});

describe('readElements', () => {
  it('splits an array', () => {
    expect(readElements('[1.0, "a,b",{"c":[]},[ ]]')).toEqual(['1.0', '"a,b"', '{"c":[]}', '[ ]']);
    expect(readElements(' [ ] ')).toEqual([]);
  });
});
