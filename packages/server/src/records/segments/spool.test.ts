import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSplitter } from './spool.ts';

const block = { rows: 4, bytes: 100 };

function split(lines: readonly number[], chunkBytes = 7) {
  const text = Buffer.from(lines.map((bytes) => `${'x'.repeat(bytes - 1)}\n`).join(''));
  const splitter = createSplitter(block);
  for (let at = 0; at < text.length; at += chunkBytes) {
    splitter.add(text.subarray(at, at + chunkBytes));
  }
  return splitter.end();
}

test('short lines are not cut', () => {
  expect(split(Array.from({ length: 50 }, () => 20))).toEqual([{ count: 50, bytes: 1000 }]);
});

test('long lines get parts of their own, and short ones beside them stay together', () => {
  const short = [10, 10, 10, 10, 10, 10, 10, 10];
  expect(split([...short, 60, 60, 60, ...short])).toEqual([
    { count: 8, bytes: 80 },
    { count: 1, bytes: 60 },
    { count: 1, bytes: 60 },
    { count: 9, bytes: 140 },
  ]);
});

test('a line longer than a block is a part', () => {
  expect(split([300, 10])).toEqual([
    { count: 1, bytes: 300 },
    { count: 1, bytes: 10 },
  ]);
});

test('no part has a stretch with more bytes than a block, and no line is lost', () => {
  const sizes = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 99 })),
  );
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 200 }), (lines, chunkBytes) => {
      const left = [...lines];
      for (const part of split(lines, chunkBytes)) {
        const rows = left.splice(0, part.count);
        expect(rows.reduce((sum, bytes) => sum + bytes, 0)).toBe(part.bytes);
        for (let at = 0; at < rows.length; at += block.rows) {
          const bytes = rows.slice(at, at + block.rows).reduce((sum, size) => sum + size, 0);
          expect(bytes).toBeLessThanOrEqual(block.bytes);
        }
      }
      expect(left).toEqual([]);
    }),
  );
});
