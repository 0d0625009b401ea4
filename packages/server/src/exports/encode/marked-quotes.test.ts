import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { giveBack, markedQuote, mendByBytes, mendQuotes } from './marked-quotes.ts';

const text = fc.string({ unit: fc.constantFrom(...'"ab,\n', markedQuote, 'é', '\u{1F600}') });
const mendText = (marked: string) => marked.replaceAll('"', '""').replaceAll(markedQuote, '"');

test('turns marks into quotes and doubles quotes, at any length and place', () => {
  fc.assert(
    fc.property(text, fc.nat({ max: 40 }), (some, count) => {
      const marked = 'x'.repeat(count) + some;
      const mended = Buffer.from(mendText(marked));
      expect(mendQuotes(Buffer.from(marked))).toEqual(mended);
      expect(mendByBytes(Buffer.from(marked))).toEqual(mended);
    }),
    { numRuns: runs(1_000) },
  );
});

test.each([
  ['quotes alone', '"'],
  ['no quote', 'a'],
  ['rows', `${markedQuote}TX${markedQuote},1,${markedQuote}{"a":"b"}${markedQuote}\n`],
])('mends more than is mended at once: %s', (_name, row) => {
  const marked = row.repeat(Math.ceil((1024 * 1024 + 7) / row.length));
  expect(mendQuotes(Buffer.from(marked)).toString()).toBe(mendText(marked));
});

test('memory is used again once it is given back, and by one piece only', () => {
  const first = mendQuotes(Buffer.from('first'));
  giveBack(first);
  giveBack(first);
  giveBack(Buffer.from('not ours'));
  const second = mendQuotes(Buffer.from('again'));
  const third = mendQuotes(Buffer.from('other'));
  expect(second.buffer).toBe(first.buffer);
  expect([second.toString(), third.toString()]).toEqual(['again', 'other']);
});
