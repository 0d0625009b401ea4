import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRowCounter } from './count-rows.ts';

const cell = fc.string({ unit: fc.constantFrom('a', '"', '\n', ',') });
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

test('rows of CSV are counted whatever is in their cells, and however the bytes are cut', () => {
  const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 3 }), { maxLength: 8 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 9 }), (cells, step) => {
      const bytes = Buffer.from(cells.map((row) => `${row.map(quoted).join(',')}\n`).join(''));
      const count = createRowCounter('csv');
      let rowCount = 0;
      for (let at = 0; at < bytes.length; at += step) {
        rowCount = count(bytes.subarray(at, at + step));
      }
      expect(rowCount).toBe(cells.length);
    }),
  );
});

test('rows of NDJSON are its lines; of Parquet nothing is told', () => {
  expect(createRowCounter('ndjson')(Buffer.from('{"a":"\\""}\n{"b":"\\n"}\n{'))).toBe(2);
  expect(createRowCounter('parquet')(Buffer.from('\n\n'))).toBe(0);
});
