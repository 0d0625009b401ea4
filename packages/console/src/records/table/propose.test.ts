import { expect, it } from 'vitest';
import type { Field } from '../../api/types.ts';
import { proposalsAt } from './propose.ts';

const share = { share: 0.5, low: 0.5, high: 0.5 };
const field = (name: string, values: (string | number | boolean)[] = [], more = {}) =>
  ({
    name,
    of: 'enrichment',
    present: share,
    numbers: null,
    ...more,
    values: values.map((value) => ({ value, count: 1, ...share })),
  }) as unknown as Field;
const quantiles = [{ percent: 50, value: 0.123456, low: 0, high: 1 }];
const fields = [
  field('score', [], { numbers: { quantiles } }),
  field('label', ['bird', 'a "b"', 'x'.repeat(200)]),
  field('tags[]', ['night', 'day']),
  field('legs[].iata', ['DFW']),
  field('"a.b".c', [true, false]),
  field('kind', [7]),
  field('kind', ['flight'], { of: 'record' }),
];

/** What is proposed where the text has a bar. */
function at(text: string) {
  const caret = text.indexOf('|');
  const { from, to, options } = proposalsAt(text.replace('|', ''), caret, fields);
  return [text.replace('|', '').slice(from, to), ...options.map((option) => option.text)];
}

it.each([
  ['sc|', ['sc', 'score ']],
  ['sco|re > 1', ['score', 'score ']],
  ['LAB|', ['LAB', 'label ']],
  ['any|', ['any', 'any(tags) ']],
  ['any(|', ['', 'tags) ']],
  ['not exists(la|', ['la', 'label) ']],
  ['n = 1 and not (k|', ['k', 'kind ', 'enrichment.kind ']],
  ['a.|', ['a.', '"a.b".c ']],
  ['score |', ['', '= ', '!= ', '>= ', '<= ', 'in (', 'ilike ']],
  ['score i|', ['i', 'in (', 'ilike ']],
  ['score >= |', ['', '0.1235 ']],
  ['label = |', ['', '"bird" ', '"a \\"b\\"" ']],
  ['label = "bi|', ['"bi', '"bird" ']],
  ['label = "b|ird" and n = 1', ['"bird"', '"bird" ', '"a \\"b\\"" ']],
  ['label in ("bird", |', ['', '"bird"', '"a \\"b\\""']],
  ['label in ("bird"|', ['"bird"']],
  ['label in ("bird" |', ['', ', ', ') ']],
  ['any(tags) = n|', ['n', '"night" ']],
  ['"a.b".c = |', ['', 'true ', 'false ']],
  ['kind = |', ['', '"flight" ']],
  ['enrichment.kind = |', ['', '7 ']],
  ['kind = "flight" |', ['', 'and ', 'or ']],
  ['exists(label) o|', ['o', 'or ']],
  ['gone = |', ['']],
  ['legs.iata = |', ['']],
])('%s', (text, expected) => {
  expect(at(text)).toEqual(expected);
});

it('offers eight at most, the fields before the columns', () => {
  expect(at('|').slice(0, 6)).toEqual([
    '',
    'score ',
    'label ',
    'any(tags) ',
    '"a.b".c ',
    'enrichment.kind ',
  ]);
  expect(at('|')).toHaveLength(9);
});
