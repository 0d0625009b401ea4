import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { pickField } from './re-encode.ts';

const json =
  '{"a":{"b":[1.0,{"c":"x\\n\\u00e9"},null]},"n":12345678901234567890,"t":true,"e":{},"l":[],"":{"z":-0.0},"q\\"":1,"\\u0063":"","x":1E+3}';

test.each([
  [['a', 'b', '0'], { text: '1.0', isText: false }],
  [['a', 'b', '1', 'c'], { text: 'x\né', isText: true }],
  [['a', 'b', '1'], { text: '{"c":"x\\n\\u00e9"}', isText: true }],
  [['a', 'b'], { text: '[1.0,{"c":"x\\n\\u00e9"},null]', isText: true }],
  [['a', 'b', '2'], null],
  [['a', 'b', '3'], null],
  [['a', 'b', '01'], null],
  [['a', 'b', 'c'], null],
  [['a', 'x'], null],
  [['n'], { text: '12345678901234567890', isText: false }],
  [['n', 'deeper'], null],
  [['t'], { text: 'true', isText: false }],
  [['e'], { text: '{}', isText: true }],
  [['e', 'x'], null],
  [['l', '0'], null],
  [['', 'z'], { text: '-0.0', isText: false }],
  [['q"'], { text: '1', isText: false }],
  [['c'], { text: '', isText: true }],
  [['c', 'length'], null],
  [['x'], { text: '1E+3', isText: false }],
])('at %j finds %j', (path, cell) => {
  expect(pickField(json, path)).toEqual(cell);
});

test('finds in any JSON what walking the parsed value finds', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (value) => {
      for (const key of Object.keys(value)) {
        const cell = pickField(JSON.stringify(value), [key]);
        const expected = value[key];
        if (expected === null) expect(cell).toBeNull();
        else if (typeof expected === 'string')
          expect(cell).toEqual({ text: expected, isText: true });
        else expect(cell?.text).toBe(JSON.stringify(expected));
      }
    }),
    { numRuns: runs(500) },
  );
});
