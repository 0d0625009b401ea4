import { expect, test } from 'vitest';
import { chooseGroup } from './compact.ts';

const mebibyte = 2 ** 20;

const segment = (id: string, size = mebibyte) => ({
  id,
  size_bytes: size,
  count: size / 20,
  bytes: 25 * size,
});
const ids = (group: { id: string }[] | null) => group?.map(({ id }) => id) ?? null;

const segments = (size: number, count: number, id = 's') =>
  Array.from({ length: count }, (_, n) => segment(`${id}${n}`, size));

test('eight segments of a level are merged, and fewer are left alone', () => {
  expect(chooseGroup(segments(mebibyte, 7), [])).toBeNull();
  expect(chooseGroup(segments(mebibyte, 8), [])).toHaveLength(8);
});

test('a segment is merged with those of its level only, whatever stands between them', () => {
  const mixed = segments(1000, 8).flatMap((small, n) => [small, segment(`L${n}`, 100_000)]);
  expect(ids(chooseGroup(mixed.slice(2), []))).toBeNull();
  expect(ids(chooseGroup(mixed.slice(0, -1), []))).toEqual(segments(1000, 8).map(({ id }) => id));
});

test('two of a level that share a day are merged, and a small one with none that is much larger', () => {
  const [a, b, large] = [segment('a'), segment('b'), segment('large', 20 * mebibyte)];
  expect(ids(chooseGroup([a, b, large], [{ a: 'a', b: 'b' }]))).toEqual(['a', 'b']);
  expect(chooseGroup([a, b, large], [{ a: 'a', b: 'large' }])).toBeNull();
});

test('no merge gets larger than 128 MiB or takes more than a hundred', () => {
  const large = segments(31 * mebibyte, 6);
  expect(chooseGroup(large, [])).toEqual(large.slice(0, 4));
  expect(chooseGroup(large.slice(0, 4), [])).toBeNull();
  expect(chooseGroup(segments(1000, 250), [])).toHaveLength(100);
});

test('a record that moves day by day is rewritten once for each level', () => {
  let live: (ReturnType<typeof segment> & { rewrites: number })[] = [];
  let written = 0;
  let most = 0;
  for (let day = 0; day < 512; day += 1) {
    live.push({ ...segment(`day-${day}`, 300 + (day % 7)), rewrites: 0 });
    for (let group = chooseGroup(live, []); group !== null; group = chooseGroup(live, [])) {
      const merged = new Set(group.map(({ id }) => id));
      const sum = group.reduce((size, { size_bytes }) => size + size_bytes, 0);
      const rewrites = 1 + Math.max(...group.map((one) => one.rewrites));
      written += sum;
      live = live.filter(({ id }) => !merged.has(id));
      live.unshift({ ...segment(`merged-${day}-${sum}`, sum), rewrites });
    }
    most = Math.max(most, live.length);
  }
  expect(live.map(({ rewrites }) => rewrites)).toEqual([3]);
  expect(written).toBe(3 * (live[0]?.size_bytes ?? 0));
  expect(most).toBe(3 * 7);
});

test('segments of large records are merged with their like only, up to 16 MiB', () => {
  const large = (id: string) => ({ id, size_bytes: 3 * mebibyte, count: 10, bytes: 3 * mebibyte });
  const mixed = ['A', 'B', 'C', 'D', 'E', 'F'].flatMap((id) => [
    large(id),
    segment(id.toLowerCase(), 100_000),
  ]);
  expect(ids(chooseGroup(mixed, []))).toEqual(['A', 'B', 'C', 'D', 'E']);
  expect(ids(chooseGroup(mixed.slice(0, -2), []))).toBeNull();
  const overlaps = [
    { a: 'A', b: 'a' },
    { a: 'B', b: 'C' },
  ];
  expect(chooseGroup(mixed.slice(0, 2), overlaps)).toBeNull();
  expect(ids(chooseGroup(mixed.slice(2, 6), overlaps))).toEqual(['B', 'C']);
});
