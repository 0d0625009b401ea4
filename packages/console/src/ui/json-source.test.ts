import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { printJson, printPieces } from './json-source.ts';

describe('printJson', () => {
  it('indents, and keeps the spelling of numbers and strings', () => {
    const source =
      '{"a":0.10,"b":1e400,"c":9007199254740993,"d":"\\u0041\\n","e":{},"f":[],"g":{"h":null}}';
    expect(printJson(source)).toBe(
      [
        '{',
        '  "a": 0.10,',
        '  "b": 1e400,',
        '  "c": 9007199254740993,',
        '  "d": "\\u0041\\n",',
        '  "e": {},',
        '  "f": [],',
        '  "g": {',
        '    "h": null',
        '  }',
        '}',
      ].join('\n'),
    );
  });

  it('keeps short lists of scalars on one line and breaks long ones', () => {
    expect(printJson('[-122.40,37.620]')).toBe('[-122.40, 37.620]');
    expect(printJson('[[1],[2]]')).toBe('[\n  [1],\n  [2]\n]');
    expect(printJson(`[${'1234567890,'.repeat(8)}1]`).split('\n')).toHaveLength(11);
  });

  it('is not led astray by brackets and quotes inside strings', () => {
    expect(printJson('{"a":"}\\",[{","b":["]","\\\\"]}')).toBe(
      '{\n  "a": "}\\",[{",\n  "b": ["]", "\\\\"]\n}',
    );
  });

  it('tells keys from strings', () => {
    expect(printPieces('{"a":"b"}').map((piece) => piece.kind)).toEqual([
      'mark',
      'key',
      'mark',
      'string',
      'mark',
    ]);
  });

  it('looks at what is nested deeply as often as at anything else', () => {
    for (const [opening, closing] of [
      ['[', ']'],
      ['{"a":', '}'],
      ['[1,{"b":[', ']},2]'],
    ] as const) {
      const source = `${opening.repeat(200)}["${'\\"'.repeat(1000)}"]${closing.repeat(200)}`;
      const looks = vi.spyOn(String.prototype, 'charCodeAt');
      printJson(source);
      const times = looks.mock.calls.length;
      looks.mockRestore();
      expect(times).toBeGreaterThan(source.length / 10);
      expect(times).toBeLessThan(source.length * 10);
    }
  });

  it('changes nothing but white space, whatever the JSON', () => {
    fc.assert(
      fc.property(fc.json(), (source) => {
        expect(JSON.parse(printJson(source))).toEqual(JSON.parse(source));
        expect(printJson(printJson(source))).toBe(printJson(source));
      }),
    );
  });
});
