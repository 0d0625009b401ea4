import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  isSameTriple,
  shareStoredBytes,
  subtractTriples,
  sumByDay,
  sumTriples,
} from './segment.ts';

const triple = fc.record({
  count: fc.nat(),
  bytes: fc.nat(),
  digest: fc.bigInt(0n, 2n ** 64n - 1n).map(String),
});

test('what is added and taken away again leaves the same triple', () => {
  fc.assert(
    fc.property(triple, triple, (a, b) => {
      expect(subtractTriples(sumTriples([a, b]), b)).toEqual(a);
      expect(isSameTriple(sumTriples([a, b]), sumTriples([b, a]))).toBe(true);
    }),
  );
});

test('a digest is a sum mod 2^64', () => {
  const one = { count: 1, bytes: 1, digest: '18446744073709551615' };
  expect(sumTriples([one, { ...one, digest: '2' }])).toEqual({ count: 2, bytes: 2, digest: '1' });
});

test('triples of one store’s day are summed, others kept apart', () => {
  const one = { count: 1, bytes: 2, digest: '3' };
  const days = [
    { store: 'A', day: '2001-03-01', ...one },
    { store: 'A', day: '2001-03-02', ...one },
    { store: 'A', day: '2001-03-01', ...one },
  ];
  expect([...sumByDay(days).values()].map(({ count }) => count)).toEqual([2, 1]);
});

test('shares of an object add up to its size, none of them off by more than one byte', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 2 ** 40 }), { minLength: 1 }),
      fc.integer({ min: 1, max: 2 ** 40 }),
      (bytes, size) => {
        const shares = shareStoredBytes(bytes, size);
        expect(shares.reduce((a, b) => a + b, 0)).toBe(size);
        const total = bytes.reduce((a, b) => a + b, 0);
        for (const [index, share] of shares.entries()) {
          const exact = ((bytes[index] ?? 0) / total) * size;
          expect(Math.abs(share - exact)).toBeLessThan(1.01);
        }
      },
    ),
  );
});
