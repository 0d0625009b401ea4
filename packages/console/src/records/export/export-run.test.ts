import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCounter, createRowCounter } from './export-run.ts';

function count(csv: string, hasHeader = true, cut = csv.length): number | null {
  const counter = createRowCounter({ hasHeader });
  const bytes = new TextEncoder().encode(csv);
  for (let at = 0; at < bytes.length; at += Math.max(1, cut)) {
    counter.add(bytes.subarray(at, at + Math.max(1, cut)));
  }
  return counter.end();
}

describe('createRowCounter', () => {
  it('counts records, not lines, and not the header', () => {
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

describe('createCounter', () => {
  const countOf = (file: Parameters<typeof createCounter>[0], text: string) => {
    const counter = createCounter(file);
    counter.add(new TextEncoder().encode(text));
    return { rows: counter.end(), bytes: counter.bytes() };
  };
  const plain = { compression: 'none', hasHeader: true } as const;

  it('counts the lines of NDJSON, whatever quotes are in them, without a header', () => {
    const text = '{"a":"5\\" disk"}\n{"a":"\\""}\n';
    expect(countOf({ ...plain, format: 'ndjson' }, text)).toEqual({ rows: 2, bytes: text.length });
  });

  it('does not pretend to see rows where it sees bytes only', () => {
    expect(countOf({ ...plain, format: 'parquet' }, 'a\nb\n')).toEqual({ rows: null, bytes: 4 });
    const zipped = { ...plain, format: 'csv', compression: 'gzip' } as const;
    expect(countOf(zipped, 'a\nb\n')).toEqual({ rows: null, bytes: 4 });
  });
});
