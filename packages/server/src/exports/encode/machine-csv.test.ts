import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Cell, dialects, MachineCsvReader } from './csv-cells.ts';

const cell: fc.Arbitrary<Cell> = fc.oneof(
  fc.constant(null),
  fc
    .string({ unit: fc.constantFrom(...'ab",\n\r\t\' =é\u{1F600}') })
    .map((text) => ({ text, isText: true })),
  fc.constantFrom('1', '-2.50', '2001-03', 'true').map((text) => ({ text, isText: false })),
);

test('reads back any rows, wherever the pieces are cut', () => {
  const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { maxLength: 8 });
  fc.assert(
    fc.property(rows, fc.array(fc.nat({ max: 30 }), { maxLength: 20 }), (written, cuts) => {
      const text = written.map((row) => `${row.map(dialects.machine.encode).join(',')}\n`).join('');
      const reader = new MachineCsvReader();
      const read: Cell[][] = [];
      let at = 0;
      for (const cut of cuts) {
        read.push(...reader.read(text.slice(at, at + cut)));
        at += cut;
      }
      read.push(...reader.read(text.slice(at)));
      expect(read).toEqual(written);
    }),
    { numRuns: 500 },
  );
});
