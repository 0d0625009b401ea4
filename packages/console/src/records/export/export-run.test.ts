import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { createCounter } from './export-run.ts';

const plain = { format: 'csv', compression: 'none', hasHeader: true } as const;

function countOf(text: string, change: object = {}, cut = text.length) {
  const counter = createCounter({ ...plain, ...change });
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += Math.max(1, cut)) {
    counter.add(bytes.subarray(at, at + Math.max(1, cut)));
  }
  return { rows: counter.end(), bytes: counter.bytes() };
}

const count = (csv: string, hasHeader = true, cut = csv.length) =>
  countOf(csv, { hasHeader }, cut).rows;

describe('the rows of a CSV', () => {
  it('are counted as records, not lines, and not the header', () => {
    expect(count('a,b\n"x\ny","""\n"""\n"z",1\n')).toBe(2);
    expect(count('"x\ny"\n', false)).toBe(1);
  });

  it('counts a last record without a line break, and CRLF once', () => {
    expect(count('\ufeffa\r\n"1"\r\n"2"')).toBe(2);
  });

  it('counts none in nothing and in a header', () => {
    expect(count('')).toBe(0);
    expect(count('a,b\n')).toBe(0);
    expect(count('', false)).toBe(0);
  });

  it('does not depend on where the chunks are cut', () => {
    const cell = fc.string({ unit: fc.constantFrom('"', '\n', '\r', ',', 'é', 'a') });
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 1, maxLength: 3 })),
        fc.nat(7),
        (rows, cut) => {
          const csv = rows
            .map((cells) => `${cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')}\n`)
            .join('');
          expect(count(csv, false, cut)).toBe(rows.length);
        },
      ),
    );
  });
});

test('the lines of NDJSON are counted, whatever quotes are in them, without a header', () => {
  const text = '{"a":"5\\" disk"}\n{"a":"\\""}\n';
  expect(countOf(text, { format: 'ndjson' })).toEqual({ rows: 2, bytes: text.length });
});

test.each([{ format: 'parquet' }, { compression: 'gzip' }])(
  'of %o only bytes are seen',
  (change) => {
    expect(countOf('a\nb\n', change)).toEqual({ rows: null, bytes: 4 });
  },
);
