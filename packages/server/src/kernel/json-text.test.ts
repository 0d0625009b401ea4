import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/runs.ts';
import { type JsonFault, JsonScanner } from './json-text.ts';

type CompactReading =
  | { compact: string; sizeBytes: number; fault: null }
  | { compact: null; fault: JsonFault };

/**
 * Reads a text that is one JSON value, with or without white space around it. The result keeps the source: the spelling
 * of numbers, the order of keys and the escapes stay, and only white space between tokens is removed. `sizeBytes` is
 * the UTF-8 length of the compact text.
 */
function compactJson(text: string): CompactReading {
  const scanner = new JsonScanner(text);
  const start = scanner.skipSpace(0);
  scanner.beginValue();
  const end = scanner.scanValue(start);
  const sizeBytes = scanner.compactBytes(start, end);
  const compact = scanner.fault === null ? scanner.compact(start, end) : '';
  const rest = end < 0 ? end : scanner.skipSpace(end);
  if (rest >= 0 && rest < scanner.sizeBytes) scanner.refuse(rest, 'nothing after the value');
  if (scanner.fault !== null) return { compact: null, fault: scanner.fault };
  return { compact, sizeBytes, fault: null };
}

const codeOf = (text: string) => compactJson(text).fault?.code ?? 'accepted';

/** Writes a value with white space between its tokens, and strings in one of several spellings. */
function spell(value: unknown, choices: readonly number[]): string {
  let turn = 0;
  const choose = (count: number) => (choices[turn++ % choices.length] ?? 0) % count;
  const space = () => ['', '', ' ', '\n', '\t\r', ' \n  '][choose(6)] ?? '';
  const unit = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`;
  const string = (text: string) => {
    if (choose(3) > 0) return JSON.stringify(text);
    const units = text.split('').map((char) => char.charCodeAt(0));
    return `"${units.map((code) => (choose(2) ? unit(code) : unit(code).toUpperCase().replace('U', 'u'))).join('')}"`;
  };
  const write = (part: unknown): string => {
    if (typeof part === 'string') return string(part);
    if (part === null || typeof part !== 'object') return JSON.stringify(part);
    const items = Array.isArray(part)
      ? part.map((item) => space() + write(item) + space())
      : Object.entries(part).map(
          ([key, item]) => space() + string(key) + space() + ':' + space() + write(item) + space(),
        );
    const body = items.length === 0 ? space() : items.join(',');
    return Array.isArray(part) ? `[${body}]` : `{${body}}`;
  };
  return space() + write(value) + space();
}

const choicesArbitrary = fc.array(fc.nat(60), { minLength: 1, maxLength: 40 });
const valueArbitrary = fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 5 });

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('a compacted value is the same value, smaller, and stays as it is', () => {
  fc.assert(
    fc.property(valueArbitrary, choicesArbitrary, (value, choices) => {
      const text = spell(value, choices);
      const { compact, fault } = compactJson(text);
      if (compact === null) throw new Error(`${fault.message} in ${text}`);
      expect(isDeepStrictEqual(JSON.parse(compact), JSON.parse(text))).toBe(true);
      expect(compactJson(compact).compact).toBe(compact);
      // Without escapes of choice there is one compact spelling.
      expect(compactJson(JSON.stringify(value, null, 3)).compact).toBe(JSON.stringify(value));
    }),
    { numRuns: runs(500) },
  );
});

test('the size is the UTF-8 length of the compact text', () => {
  fc.assert(
    fc.property(valueArbitrary, choicesArbitrary, (value, choices) => {
      const reading = compactJson(spell(value, choices));
      if (reading.compact === null) throw new Error(reading.fault.message);
      expect(reading.sizeBytes).toBe(Buffer.byteLength(reading.compact));
    }),
  );
});

test('text is refused as JSON exactly when JSON.parse refuses it', () => {
  const edit = fc.record({
    kind: fc.constantFrom('delete', 'insert', 'replace'),
    at: fc.nat(),
    char: fc.oneof(
      fc.constantFrom(...'{}[]",:\\/u0019eE+-. \n\t\0ntrfal\u00a0\u001f\u007f\ufeffé😀'),
      fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }),
    ),
  });
  const property = fc.property(
    fc.jsonValue({ maxDepth: 4 }),
    choicesArbitrary,
    fc.array(edit, { minLength: 1, maxLength: 3 }),
    (value, choices, edits) => {
      let text = spell(value, choices);
      for (const { kind, at, char } of edits) {
        const place = at % (text.length + 1);
        const rest = text.slice(kind === 'insert' ? place : place + 1);
        text = text.slice(0, place) + (kind === 'delete' ? '' : char) + rest;
      }
      const { compact, fault } = compactJson(text);
      expect([text, fault?.code !== 'json_invalid']).toEqual([text, isJson(text)]);
      if (compact !== null) {
        expect(isDeepStrictEqual(JSON.parse(compact), JSON.parse(text))).toBe(true);
      }
    },
  );
  fc.assert(property, { numRuns: runs(3000) });
});

test.each([
  '0',
  '-0',
  '0.10',
  '1e400',
  '-1E-0007',
  '9007199254740993',
  '123456789012345678901234567890.123456789012345678901234567890',
])('the number %s is kept to the letter', (number) => {
  expect(compactJson(` { "n" : [ ${number} , ${number} ] } `).compact).toBe(
    `{"n":[${number},${number}]}`,
  );
});

test('key order and escapes are kept to the letter', () => {
  const compact = '{"b":"\\u00e9\\/","10":1,"2":"\\ud83D\\uDE00","a\\n":[],"é":"\\\\\\" : ,"}';
  expect(compactJson(compact).compact).toBe(compact);
  expect(compactJson(`\n${compact.replaceAll('":', '" :\t')} `).compact).toBe(compact);
});

test.each([
  '',
  ' ',
  '01',
  '-',
  '+1',
  '1.',
  '.5',
  '1e',
  '1e+',
  '0x10',
  'NaN',
  'nul',
  'True',
  "'a'",
  '"a',
  '"a\n"',
  '"\u001f"',
  '"\\x"',
  '"\\',
  '"\\u12"',
  '"\\u12g4"',
  '[1,]',
  '[,1]',
  '[1 2]',
  '[1}',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{a:1}',
  '{"a":1]',
  '1 2',
  '\ufeff1',
  '\u00a01',
  '[1]\0',
  '\0',
])('%j is not JSON', (text) => {
  expect(isJson(text)).toBe(false);
  expect(codeOf(text)).toBe('json_invalid');
});

test('keys are one key when their decoded text is the same', () => {
  expect(codeOf('{"a":1,"\\u0061":2}')).toBe('json_duplicate_key');
  expect(codeOf('{"\\u0061":1,"a":2}')).toBe('json_duplicate_key');
  expect(codeOf('{"é":1,"\\u00e9":2}')).toBe('json_duplicate_key');
  expect(codeOf('{"x":"é","é":1,"\\u00E9":2}')).toBe('json_duplicate_key');
  expect(codeOf('{"":1,"":2}')).toBe('json_duplicate_key');
  expect(codeOf('{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}')).toBe('accepted');
  expect(codeOf('{"a":{"b":1,"c":{"d":1}},"c":1,"d":1,"b":1}')).toBe('accepted');
  expect(codeOf('{"a":{"b":1},"a":1}')).toBe('json_duplicate_key');
  const long = 'k'.repeat(100);
  expect(codeOf(`{"${long}1":1,"${long}2":2}`)).toBe('accepted');
  expect(codeOf(`{"${long}1":1,"${long}1":2}`)).toBe('json_duplicate_key');
});

test('a duplicate key is found among any number of keys in any spelling', () => {
  const keyArbitrary = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), maxLength: 3 }),
    fc.nat(60).map(String),
  );
  fc.assert(
    fc.property(fc.array(keyArbitrary, { maxLength: 45 }), choicesArbitrary, (keys, choices) => {
      const members = keys.map((key, i) => {
        const choice = (choices[i % choices.length] ?? 0) % 4;
        const spelled = choice === 0 ? spell(key, [0, 3, 5]).trim() : JSON.stringify(key);
        return `${spelled}:${choice === 1 ? '{"a":1,"b":[{"é":2}]}' : i}`;
      });
      const isUnique = new Set(keys).size === keys.length;
      expect(codeOf(`{${members.join(',')}}`)).toBe(isUnique ? 'accepted' : 'json_duplicate_key');
    }),
    { numRuns: runs(500) },
  );
});

test('U+0000 and lone surrogates are refused however they are combined', () => {
  const unitArbitrary = fc.constantFrom(0x41, 0xe9, 0xd83d, 0xd83d, 0xde00, 0xde00, 0xffff, 0);
  fc.assert(
    fc.property(fc.array(unitArbitrary, { maxLength: 6 }), (units) => {
      const escaped = units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
      const value = String.fromCharCode(...units);
      const isWellFormed = Buffer.from(value).toString() === value;
      const { fault } = compactJson(`["${escaped}",{"${escaped}":0}]`);
      expect(fault === null).toBe(isWellFormed && !value.includes('\0'));
      if (fault !== null && isWellFormed) expect(fault.code).toBe('json_null_character');
      if (fault !== null && !value.includes('\0')) expect(fault.code).toBe('json_lone_surrogate');
    }),
  );
  expect(codeOf('"\\ud83d\ude00"')).toBe('json_lone_surrogate');
  expect(codeOf('"\ud83d\\ude00"')).toBe('json_lone_surrogate');
  expect(codeOf('"a\ud83d"')).toBe('json_lone_surrogate');
  expect(codeOf('"\ufffd\\ufffd"')).toBe('accepted');
  expect(codeOf('"\\\\u0000"')).toBe('accepted');
});

test('a hundred levels are read, the hundred and first is refused', () => {
  const nest = (levels: number) => '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);
  expect(codeOf(nest(100))).toBe('accepted');
  expect(codeOf(`[${nest(100)}]`)).toBe('json_too_deep');
  expect(codeOf('['.repeat(101) + ']'.repeat(101))).toBe('json_too_deep');
});

test('the grammar is checked at any depth without recursion', () => {
  const deep = (middle: string) => '[{"a":'.repeat(100_000) + middle + '}]'.repeat(100_000);
  expect(codeOf(deep('1'))).toBe('json_too_deep');
  expect(codeOf(deep('1}]['))).toBe('json_invalid');
  expect(codeOf(deep(']'))).toBe('json_invalid');
  expect(codeOf('['.repeat(1_000_000))).toBe('json_invalid');
});

test('a fault tells its place in bytes', () => {
  expect(compactJson('{"é":1, x}').fault).toEqual({
    code: 'json_invalid',
    message: 'expected a key in double quotes',
    position: 9,
  });
  expect(compactJson('[1,2').fault?.message).toBe('the text ends inside a value');
  expect(compactJson('{"é":1,"é":2}').fault?.position).toBe(8);
  expect(compactJson('[1] 2').fault).toMatchObject({ position: 4 });
});
