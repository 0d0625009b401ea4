import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { type Budget, compileWhere } from './evaluate.ts';
import { JsonTree } from './json-tree.ts';
import { WhereParser } from './parse.ts';

const vocabulary = {
  object: 'data',
  columns: { type: 'text', store: 'text', occurred_at: 'time' },
} as const;

function judge(where: string, data: string, budget: Budget = { steps: 10_000 }): boolean | null {
  const tree = new WhereParser<'type' | 'store' | 'occurred_at'>(vocabulary, where, '/where');
  const columns = {
    type: new JsonTree('"incident.created"'),
    store: undefined,
    occurred_at: new JsonTree('"2026-03-05T14:07:09.000000Z"'),
  };
  return compileWhere(tree.read())({ object: new JsonTree(data), columns }, budget);
}

describe('compileWhere', () => {
  it.each([
    ['score >= 0.9 and data.kind in ("a", "b")', '{"score":0.90,"kind":"b"}', true],
    ['score >= 0.9 and data.kind in ("a", "b")', '{"score":0.89,"kind":"b"}', false],
    ['n > 9007199254740992', '{"n":9007199254740993}', true],
    ['n = 9007199254740992', '{"n":9007199254740993}', false],
    ['n in (1, 9007199254740993)', '{"n":9007199254740993}', true],
    ['n = 1e400', '{"n":1e401}', false],
    ['n < 1e400', '{"n":-1e99999999999999999999}', true],
    ['n = 5', '{"n":"5"}', false],
    ['a.b.1 = "x"', '{"a":{"b":[0,"x"]}}', true],
    ['a.b.01 = "x"', '{"a":{"b":[0,"x"]}}', false],
    ['any(tags) = "x"', '{"tags":["w","\\u0078"]}', true],
    ['any(tags) = "x"', '{"tags":"x"}', false],
    ['t ilike "%É_b%"', '{"t":"a éxB."}', true],
    ['t ilike "%νίκος ΣΤ%"', '{"t":"Νίκος ΣΤαύρου"}', true],
    ['t ilike "kırmızı ISO"', '{"t":"kırmızı ISO"}', true],
    ['t ilike "%a%b%c"', '{"t":"abcab"}', false],
    ['t ilike "100\\\\%"', '{"t":"100 "}', false],
    ['type = "incident.created" and not exists(store)', '{}', true],
    ['store != "DFW"', '{}', false],
    ['data.type = "incident.created"', '{"type":"x"}', false],
    ['occurred_at >= "2026-03-05T15:07:09+01:00"', '{}', true],
    ['a = 1', '"not an object"', false],
  ])('says of %s and %s: %s', (where, data, holds) => {
    expect(judge(where, data)).toBe(holds);
  });

  it.each([
    ['label = "x"', [true, false, false, false]],
    ['label != "x"', [false, true, true, false]],
    ['not label = "x"', [false, true, true, true]],
    ['label = null', [false, false, true, false]],
    ['exists(label)', [true, true, true, false]],
  ])('tells what is missing from null: %s', (where, all) => {
    const datas = ['{"label":"x"}', '{"label":"y"}', '{"label":null}', '{}'];
    expect(datas.map((data) => judge(where, data))).toEqual(all);
  });

  it.each([
    ['any(tags) = "x"', `{"tags":[${'"y",'.repeat(20_000)}"y"]}`],
    ['t ilike "%a%a%a%a%b"', `{"t":"${'a'.repeat(20_000)}"}`],
    ['a.b = 1', `{"a":{"c":"${'x'.repeat(1_000_000)}"}}`],
  ])('says nothing once its budget is spent: %s', (where, data) => {
    expect(judge(where, data)).toBeNull();
  });

  it('looks into a payload that others have cut for next to nothing', () => {
    const object = new JsonTree(`{"a":1,"more":"${'x'.repeat(100_000)}"}`);
    const none = undefined;
    const subject = { object, columns: { type: none, store: none, occurred_at: none } };
    const tree = new WhereParser<'type' | 'store' | 'occurred_at'>(vocabulary, 'a = 1', '/where');
    const evaluate = compileWhere(tree.read());
    const budget = { steps: 10_000 };
    expect(evaluate(subject, budget)).toBe(true);
    const again = { steps: 10 };
    expect(evaluate(subject, again)).toBe(true);
  });
});

const spelled = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.bigInt({ min: 0n, max: 20n })),
    fc.option(fc.stringMatching(/^[0-9]{1,20}$/)),
    fc.option(fc.integer({ min: -40, max: 40 })),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : `e${exponent}`}`,
  );

/** A number of JSON times 10^100, as a whole number. */
function scaled(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(100 + Number(exponent) - fraction.length);
}

test('numbers compare as whole numbers of any length do', () => {
  fc.assert(
    fc.property(spelled, spelled, fc.boolean(), (a, b, isNear) => {
      const other = isNear ? `${a.split('e')[0]}e${a.split('e')[1] ?? '0'}` : b;
      const [x, y] = [a, other].map((text) =>
        text.startsWith('-') ? -scaled(text.slice(1)) : scaled(text),
      );
      if (x === undefined || y === undefined) throw new Error('there are two');
      const found = ['<', '<=', '=', '>=', '>'].map((sign) =>
        judge(`n ${sign} ${other}`, `{"n":${a}}`),
      );
      expect(found).toEqual([x < y, x <= y, x === y, x >= y, x > y]);
    }),
    { numRuns: 1000 },
  );
});

test('no payload makes it throw, whatever is left of its budget', () => {
  const wheres = [
    'a = 1 or a.b.0 = "x" or not exists(a.a)',
    'any(a) in ("x", "y") and any(a.b) >= 3',
    't ilike "%a_%" or any(a) ilike "_%"',
    'a = null or a = true or a > 1e400',
    'any(a) < "2026-01-01T00:00:00Z" or data.type = "a"',
  ];
  const key = fc.constantFrom('a', 'b', 't', '0', '__proto__', 'constructor', '');
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'medium' },
      fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.constantFrom(null, true, false)),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.constantFrom(...wheres), tree, fc.nat(60), (where, data, steps) => {
      expect([true, false, null]).toContain(judge(where, JSON.stringify(data), { steps }));
    }),
    { numRuns: runs(300) },
  );
});
