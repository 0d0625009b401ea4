import { describe, expect, it } from 'vitest';
import { fieldOf, findFields } from './fields.ts';

const first =
  '{"score":0.10,"big":12345678901234567890,"origin":{"iata":"DFW","at":{}},"tags":["a"]}';

describe('findFields', () => {
  it('finds what has one value, in the order in which it comes', () => {
    expect(
      findFields([first, '{"late":null,"score":1,"a.b":{"c":{"d":{"e":1,"f":{"g":1}}}}}']),
    ).toEqual([['score'], ['big'], ['origin', 'iata'], ['late'], ['a.b', 'c', 'd', 'e']]);
    expect(findFields([])).toEqual([]);
  });

  it('stops where enrichments have ids as names, or very much text', () => {
    const ids = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`id${n}`, n]));
    expect(findFields([JSON.stringify(ids)])).toHaveLength(60);
    expect(findFields([`{"a":"${'x'.repeat(600_000)}"}`])).toEqual([]);
  });
});

describe('fieldOf', () => {
  it('keeps the spelling of numbers, and steps into objects alone', () => {
    expect(fieldOf(first, ['score'])).toBe('0.10');
    expect(fieldOf(first, ['big'])).toBe('12345678901234567890');
    expect(fieldOf(first, ['origin', 'iata'])).toBe('DFW');
    expect(fieldOf(first, ['tags', '0'])).toBeNull();
    expect(fieldOf(first, ['score', 'x'])).toBeNull();
    expect(fieldOf('{"a":null}', ['a'])).toBeNull();
  });
});
