import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { readLine } from './batch-reader.ts';
import { numberWarning, RecordLinter } from './lint-record.ts';

const linter = new RecordLinter();
const limits = { nowMicros: Date.UTC(2026, 0) * 1000, maxEnrichmentBytes: 2 ** 20 };

function warningsOf(enrichment: string, more = '') {
  const { record, fault } = readLine(
    `{"tenant":"T","store":"S","event_id":"e","occurred_at":"2020-01-01T00:00:00Z",${more}"enrichment":${enrichment}}`,
    limits,
  );
  if (record === null) throw new Error(fault.message);
  return linter.lint(record).map(({ code, path }) => `${code} ${path}`);
}

test('names what other readers choke on, and where it stands first', () => {
  expect(warningsOf('{"n": 12345678901234567890, "m": [9007199254740993, 1]}')).toEqual([
    'integer_unsafe /enrichment/n',
  ]);
  expect(warningsOf('{ "a" : { "b" : [ "1e400" , { "c" : -1e400 } ] } }')).toEqual([
    'number_beyond_double /enrichment/a/b/1/c',
  ]);
  expect(warningsOf(`{"x":${'9'.repeat(100_000)},"y":0.12345678901234567890}`)).toEqual([
    'number_long /enrichment/x',
    'number_inexact /enrichment/y',
  ]);
  expect(warningsOf('{"a/b~":{"c.d":{"\\u002e":1}},"\\ud83d\\ude00é":1e400}')).toEqual([
    'key_dotted /enrichment/a~1b~0/c.d',
    'number_beyond_double /enrichment/😀é',
  ]);
});

test('finds nothing in what every reader keeps', () => {
  const plain =
    '{"a":[],"b":{},"c":"1e400 \\" 9.9 \\\\","d":[[],{"e":null}],"f":[0.1,-0.0,1.50,1e21,9007199254740991,true]}';
  expect(warningsOf(plain, '"confidence":0.10,"kind":"a.b",')).toEqual([]);
});

test('looks at the confidence, too', () => {
  expect(warningsOf('{}', '"confidence":0.12345678901234567890,')).toEqual([
    'number_inexact /confidence',
  ]);
});

test('warns of nesting from the 65th level on, the record being the first', () => {
  const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  expect(warningsOf(nested(62))).toEqual([]);
  expect(warningsOf(nested(63))).toEqual([`nesting_deep /enrichment/a${'/0'.repeat(62)}`]);
});

test('of many findings of a code one is told, with their number, and no record leaves any for the next', () => {
  const { record } = readLine(
    `{"tenant":"T","store":"S","event_id":"e","occurred_at":"2020-01-01T00:00:00Z","enrichment":{"a":[${Array(
      5000,
    )
      .fill('1e999')
      .join()}]}}`,
    limits,
  );
  if (record === null) throw new Error('no record');
  expect(linter.lint(record)).toEqual([
    {
      code: 'number_beyond_double',
      path: '/enrichment/a/0',
      message: expect.stringMatching(/^1e999: .* \(and 4,?999 more in this record\)$/),
    },
  ]);
  expect(linter.lint({ ...record, enrichment: '{}' })).toEqual([]);
});

test('a path and a message stay short, however long keys and numbers are', () => {
  const key = 'k.'.repeat(50_000);
  const { record } = readLine(
    `{"tenant":"T","store":"S","event_id":"e","occurred_at":"2020-01-01T00:00:00Z","enrichment":{"${key}":${'1'.repeat(90_000)}}}`,
    limits,
  );
  if (record === null) throw new Error('no record');
  const warnings = linter.lint(record);
  expect(warnings.map(({ code }) => code)).toEqual(['key_dotted', 'number_long']);
  for (const { path, message } of warnings) {
    expect(path.length).toBeLessThan(500);
    expect(message.length).toBeLessThan(300);
  }
});

describe('a number', () => {
  test.each([
    ['9007199254740991', null],
    ['9007199254740992', 'integer_unsafe'],
    ['-9007199254740993', 'integer_unsafe'],
    ['1e400', 'number_beyond_double'],
    ['-1E+400', 'number_beyond_double'],
    ['1e-400', 'number_beyond_double'],
    ['0e999', null],
    ['-0.0e-999', null],
    [`1${'0'.repeat(999)}`, 'number_beyond_double'],
    [`1${'0'.repeat(1000)}`, 'number_long'],
    ['0.1', null],
    ['0.10000000000000001', 'number_inexact'],
    ['1.7976931348623157e308', null],
    ['5e-324', null],
    ['0.30000000000000004', null],
    ['100000000000000000000.0', null],
    ['12345678901234567890.0', 'number_inexact'],
    ['1.00000000000000000000', null],
  ])('%s gives %s', (spelled, code) => {
    expect(numberWarning(spelled)).toBe(code);
  });

  test('that a double spells is kept, however its digits are moved', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.nat(30),
        (value, zeros) => {
          const [mantissa = '', exponent = '0'] = JSON.stringify(value).split('e');
          const padded = `${mantissa}${mantissa.includes('.') ? '' : '.'}${'0'.repeat(zeros + 1)}`;
          expect(numberWarning(`${padded}e${exponent}`)).toBeNull();
        },
      ),
      { numRuns: runs(200) },
    );
  });

  test('with more digits is inexact exactly when its double is another number, by whole-number arithmetic', () => {
    const digits = fc.bigInt({ min: 1n, max: 10n ** 20n });
    fc.assert(
      fc.property(digits, fc.integer({ min: 1, max: 20 }), (value, places) => {
        const text = value.toString().padStart(places + 1, '0');
        const spelled = `${text.slice(0, -places)}.${text.slice(-places)}`;
        // What a reader of doubles prints, as a whole number of 10^-60.
        const [whole = '', fraction = ''] = shortest(Number(spelled)).split('.');
        const kept =
          BigInt(whole + fraction.padEnd(60, '0')) === value * 10n ** BigInt(60 - places);
        expect(numberWarning(spelled)).toBe(kept ? null : 'number_inexact');
      }),
      { numRuns: runs(300) },
    );
  });
});

/** The shortest decimal that reads as this double, without an exponent. */
function shortest(value: number): string {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const power = Number(exponent);
  if (power === 0) return `${whole}.${fraction}`;
  if (power > 0) return `${whole}${fraction.padEnd(power, '0')}.`;
  return `0.${'0'.repeat(-power - 1)}${whole}${fraction}`;
}
