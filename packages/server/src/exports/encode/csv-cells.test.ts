import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { type Cell, CellReader, dialects } from './csv-cells.ts';

const sheet = (text: string) => dialects.spreadsheet.encode({ text, isText: true });

test.each([
  ...['=1+1', '+cmd', '-x', '@SUM(A1)', '\tx', '＝1', '＋1', '－1', '＠x', '-', '+-1', '-1-1', '='],
  ...['--5', '+49 170', '-5+3', '-5 ', '-5\n', '=1,"2"'],
  ...['\ufeff=1', '\u200b=1', '\u00a0=1', '\u00a0\u200b\u202e@x', '\u3000＝1', '\u00a0-5'],
])('the spreadsheet profile guards %j', (text) => {
  const guarded = `'${text.replaceAll('"', '""')}`;
  expect([guarded, `"${guarded}"`]).toContain(sheet(text));
});

test.each(['a;b', ';', '=1;2', '=1,2', 'two\r\nlines'])(
  'the spreadsheet profile quotes %j',
  (text) => {
    expect(sheet(text)).toMatch(/^"'?[^']*"$/s);
  },
);

test.each(['\rx', '\nx', '\r\n=1'])('the spreadsheet profile guards and quotes %j', (text) => {
  expect(sheet(text)).toBe(`"'${text}"`);
});

test.each(['-5', '+5', '-0.5', '+1e9', '-1E-9', '-.5', '+.5E-3', '5', 'a=1', "'x", ' =1', ''])(
  'the spreadsheet profile leaves %j as it is',
  (text) => {
    expect(sheet(text)).toBe(text);
  },
);

test('NULL is nothing in both profiles, and "" differs in the machine profile only', () => {
  expect(dialects.machine.encode(null)).toBe('');
  expect(dialects.machine.encode({ text: '', isText: true })).toBe('""');
  expect(dialects.spreadsheet.encode(null)).toBe('');
});

const cell: fc.Arbitrary<Cell> = fc.oneof(
  fc.constant(null),
  fc
    .string({ unit: fc.constantFrom(...'ab",\n\r\t\u0003\' =é\u{1F600}') })
    .map((text) => ({ text, isText: true })),
  fc.constantFrom('1', '-2.50', '2001-03', 'true').map((text) => ({ text, isText: false })),
);

test('any rows on their way are read back, wherever the pieces are cut', () => {
  const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { maxLength: 8 });
  fc.assert(
    fc.property(rows, fc.array(fc.nat({ max: 30 }), { maxLength: 20 }), (written, cuts) => {
      const text = written.map((row) => `${row.map(dialects.cells.encode).join(',')}\n`).join('');
      const reader = new CellReader();
      const read: Cell[][] = [];
      let at = 0;
      for (const cut of cuts) {
        read.push(...reader.read(text.slice(at, at + cut)));
        at += cut;
      }
      read.push(...reader.read(text.slice(at)));
      expect(read).toEqual(written);
    }),
    { numRuns: runs(500) },
  );
});
