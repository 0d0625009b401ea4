import fc from 'fast-check';
import { expect, test } from 'vitest';
import { groupsAt, piecesOf, rowsAt, type SegmentPiece } from './pieces.ts';

const at = (minute: number) => `2001-01-01T00:${String(minute).padStart(2, '0')}:00.000000Z`;

/** Row groups of these minutes, and the end of the file. */
function segment(groups: readonly (readonly number[])[]): SegmentPiece[] {
  const pieces = groups.map((minutes, n) => ({
    rows: minutes.length,
    bytes: 10 + n,
    sha256: String(n).padStart(64, '0'),
    first_at: at(Math.min(...minutes)),
    last_at: at(Math.max(...minutes)),
  }));
  const end = { rows: 0, bytes: 7, sha256: 'f'.repeat(64), first_at: null, last_at: null };
  return [...pieces, end];
}

test('rows are read with the row groups in which they stand, and the end of the file', () => {
  const pieces = segment([
    [1, 1],
    [2, 2],
    [3, 3],
  ]);
  const stretches = (first: number, last: number) =>
    piecesOf(pieces, [[first, last]])?.map(({ start, end }) => [start, end]);
  expect(stretches(0, 1)).toEqual([
    [0, 10],
    [33, 40],
  ]);
  expect(stretches(1, 2)).toEqual([
    [0, 10],
    [10, 21],
    [33, 40],
  ]);
  expect(stretches(5, 5)).toEqual([
    [21, 33],
    [33, 40],
  ]);
  expect(stretches(0, 5)).toBeUndefined();
});

test('the row groups with records between two times are read, and not those beside and between them', () => {
  const pieces = segment([
    [1, 9],
    [10, 19],
    [2, 3],
    [4, 12],
  ]);
  const groups = groupsAt(pieces, { first_at: at(9), last_at: at(10) });
  expect(groups).toEqual([
    [0, 1],
    [2, 3],
    [6, 7],
  ]);
  expect(piecesOf(pieces, groups)?.map(({ start }) => start)).toEqual([0, 10, 33, 46]);
  expect(groupsAt(pieces, { first_at: at(4), last_at: at(8) })).toEqual([
    [0, 1],
    [6, 7],
  ]);
});

test('rows at a time are among those that are kept, and so is the first one after them', () => {
  const minutes = fc.array(fc.integer({ min: 10, max: 20 }), { minLength: 1, maxLength: 12 });
  const others = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 5 });
  const size = fc.integer({ min: 1, max: 4 });
  fc.assert(
    fc.property(others, minutes, others, size, fc.integer({ min: 9, max: 21 }), (...given) => {
      const [before, day, after, groupRows, minute] = given;
      const sorted = [...day].sort((a, b) => a - b);
      const rows = [...before, ...sorted, ...after];
      const groups = Array.from({ length: Math.ceil(rows.length / groupRows) }, (_, n) =>
        rows.slice(n * groupRows, (n + 1) * groupRows),
      );
      const span = [before.length, before.length + day.length - 1] as const;
      const [first, last] = rowsAt(segment(groups), span, at(minute));
      expect(first).toBeGreaterThanOrEqual(span[0]);
      expect(last).toBeLessThanOrEqual(span[1]);
      for (const [n, time] of sorted.entries()) {
        const row = span[0] + n;
        const isWanted = time === minute || (time > minute && (sorted[n - 1] ?? 0) <= minute);
        if (isWanted) expect(row >= first && row <= last).toBe(true);
      }
    }),
  );
});
