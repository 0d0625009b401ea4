import { describe, expect, it } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import { whereLimits } from '../../kernel/where/parse.ts';
import type { Check } from '../../kernel/where/where.ts';
import { parseWhere } from './parse.ts';
import type { Where } from './where.ts';

function compare(of: string | string[], check: Check, more: object = {}): Where {
  const place = typeof of === 'string' ? { column: of } : { path: of };
  return {
    op: 'compare',
    of: place,
    isAny: false,
    isNegated: false,
    checks: [check],
    ...more,
  } as Where;
}

const text = (...values: [string, ...string[]]): Check => ({ type: 'text', sign: '=', values });
const number = (...values: [string, ...string[]]): Check => ({ type: 'number', sign: '=', values });

describe('parseWhere', () => {
  it('reads the columns and keys of a sentence', () => {
    expect(
      parseWhere(
        'score >= 0.90 and model = "v3" and origin.iata in ("DFW","IAH") and not exists(label)',
      ),
    ).toEqual({
      op: 'and',
      terms: [
        compare(['score'], { type: 'number', sign: '>=', values: ['0.90'] }),
        compare('model', text('v3')),
        compare(['origin', 'iata'], text('DFW', 'IAH')),
        { op: 'not', term: { op: 'exists', of: { path: ['label'] } } },
      ],
    });
  });

  it('binds not closer than and, and and closer than or', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((key) => compare([key], number('1')));
    expect(parseWhere('not a=1 and b=1 or c=1')).toEqual({
      op: 'or',
      terms: [{ op: 'and', terms: [{ op: 'not', term: a }, b] }, c],
    });
    expect(parseWhere('not (a=1 AND (b=1 Or c=1))')).toEqual({
      op: 'not',
      term: { op: 'and', terms: [a, { op: 'or', terms: [b, c] }] },
    });
  });

  it.each<[string, Where]>([
    ['enrichment.kind = "x"', compare(['kind'], text('x'))],
    ['"kind" = "x"', compare('kind', text('x'))],
    ['"a.b"."c\\"d".0 = "\\u00e9"', compare(['a.b', 'c"d', '0'], text('é'))],
    ['enrichment.enrichment = 1', compare(['enrichment'], number('1'))],
    ['not.x = 1', compare(['not', 'x'], number('1'))],
    ['"not" = 1', compare(['not'], number('1'))],
    ['inbound = 1', compare(['inbound'], number('1'))],
    ['größe_2-b = -1.50E+3', compare(['größe_2-b'], number('-1.50E+3'))],
    ['any(tags) = "x"', compare(['tags'], text('x'), { isAny: true })],
    ['a != null', compare(['a'], { type: 'word', values: ['null'] }, { isNegated: true })],
    [
      'a in (1, "1", true, 2)',
      compare(['a'], number('1', '2'), {
        checks: [number('1', '2'), text('1'), { type: 'word', values: ['true'] }],
      }),
    ],
    ['a ilike "x\\\\%"', compare(['a'], { type: 'like', pattern: 'x\\%' })],
    [
      'occurred_at < "2026-03-05T01:00:00+01:00"',
      compare('occurred_at', { type: 'time', sign: '<', values: ['2026-03-05T00:00:00.000000Z'] }),
    ],
  ])('reads %s', (where, tree) => {
    expect(parseWhere(where)).toEqual(tree);
  });

  const repeated = (times: number, part: string) => Array(times).fill(part).join('');
  const { depth, values, characters } = whereLimits;
  it.each<[string, number, RegExp]>([
    ['', 1, /expected a column or a key, found the end/],
    ['score', 6, /expected an operator.*found the end/],
    ['score > ', 9, /expected a value.*found the end/],
    ["model = 'v3'", 9, /a text in double quotes.*found '/],
    ['model == "v3"', 8, /expected a value.*found =/],
    ['score > 05', 9, /expected a value.*found 05/],
    ['score > .5', 9, /expected a value/],
    ['score > 1 model = "x"', 11, /expected and, or, or the end, found model/],
    ['(a = 1', 7, /expected "\)", found the end/],
    ['a in (1 2)', 9, /expected "," or "\)"/],
    ['a in ()', 7, /expected a value/],
    ['a = "x', 5, /text as JSON writes it/],
    ['a = "\\x"', 5, /text as JSON writes it/],
    ['a = "\\u0000"', 5, /U\+0000/],
    ['a = "\\ud800"', 5, /half a surrogate pair/],
    ['"\\u0000" = 1', 1, /U\+0000/],
    ['a < true', 5, /true goes with = and !=/],
    ['a = nul', 5, /expected a value.*found nul/],
    ['a. = 1', 4, /expected a column or a key, found =/],
    ['a .b = 1', 3, /expected an operator/],
    ['and = 1', 1, /expected a column or a key, found and/],
    ['kind = 5', 8, /kind is compared with texts/],
    ['confidence > "0.5"', 14, /confidence is compared with numbers/],
    ['model = null', 9, /not exists\(model\)/],
    ['occurred_at > "2026-03-05"', 15, /a day without a time/],
    ['bytes ilike "1%"', 13, /ilike goes with texts/],
    ['kind.x = 1', 1, /enrichment\.kind/],
    ['enrichment = 1', 1, /enrichment\.score/],
    ['any(kind) = "x"', 1, /kind is a column/],
    ['a ilike 5', 9, /a pattern in double quotes/],
    ['a ilike "x\\\\"', 9, /a backslash in a pattern/],
    ['a > 1e1000000', 5, /an exponent is at most 999999/],
    ['é = 1 😀', 7, /found 😀/],
    [`${repeated(depth + 1, '(')}a = 1`, depth + 1, /at most 32 deep/],
    [`a in (${repeated(values, '1,')}1)`, 7 + 2 * values, /at most 200 values/],
    [`${repeated(20, 'a=1 or ')}b=1`, 7 * 20 + 1, /at most 20 comparisons/],
    [`a = "${repeated(characters, 'x')}"`, characters + 1, /at most 2000 characters/],
  ])('refuses %j at its place', (where, at, message) => {
    try {
      parseWhere(where, '/where');
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      expect(error.code).toBe('request_invalid');
      expect(error.errors).toEqual([
        { path: '/where', code: 'where_invalid', message: expect.stringMatching(message), at },
      ]);
      expect(error.detail).toContain(`where, at character ${at}: `);
    }
  });
});
