import { expect, test } from 'vitest';
import { compare, medianOf, readRatios } from '../bench/guard.mjs';
import { goal, markdownTable } from '../bench/lib/table.mjs';

const table = markdownTable(
  ['', 'ours:', 'ratio:', 'goal', 'p99:', 'goal'],
  [
    ['records/s', '4,000', '0.66', '≥ 0.8 ✗', '–', ''],
    ['first page', '2 ms', '1.25', '≤ 1.5 ✓', '5 ms', '< 50 ms ✓'],
    ['memory', '90 MiB', '–', '–', '–', ''],
  ],
);

test.each([
  ['≤ 1.5', 1.5, 1.51],
  ['≥ 0.8', 0.8, 0.79],
  ['p50 ≤ 25 ms', 25, 25.1],
  ['< 1 s', 999, 1000],
  ['≥ 50,000', 50_000, 49_999],
  ['≥ 90 %', 0.9, 0.89],
  ['< 512 MB', 511e6, 512e6],
  ['flat: < 32 MiB more', 32 * 2 ** 20 - 1, 32 * 2 ** 20],
])('a goal of %s is reached by %d, and missed by %d', (text, within, beyond) => {
  expect([goal(text, within), goal(text, beyond)]).toEqual([`${text} ✓`, `${text} ✗`]);
});

test('the guard reads the ratios that have a goal', () => {
  expect(readRatios(`### A\n\n${table}\n\nmore`, 'records a')).toEqual({
    'records a: records/s': { ratio: 0.66, better: 'more' },
    'records a: first page': { ratio: 1.25, better: 'less' },
  });
});

test('the guard names what slid back, whichever way is better', () => {
  const kept = readRatios(table, 'a');
  const worse = { 'a: records/s': { ratio: 0.4, better: 'more' } };
  const lines = compare({ ...kept, ...worse, 'a: other': kept['a: first page'] }, kept).split('\n');
  const said = (name) =>
    lines
      .find((line) => line.includes(name))
      ?.split('|')
      .at(-2)
      ?.trim();
  expect(said('records/s')).toBe('✗ slid back');
  expect(said('first page')).toBe('');
  expect(said('other')).toBe('new');
  const slow = { ...kept, 'a: first page': { ratio: 2, better: 'less' } };
  expect(compare(slow, kept)).toMatch(/first page .* 2\.00 .* slid back/);
});

test('the guard takes the median of its rounds, and what they differ by for noise', () => {
  const rounds = [0.5, 0.75, 0.6].map((ratio) => ({ row: { ratio, better: 'more' } }));
  const found = medianOf(rounds);
  expect(found).toEqual({ row: { ratio: 0.6, better: 'more', noise: 1.5 } });
  const kept = (ratio) => ({ row: { ratio, better: 'more', noise: 1.1 } });
  expect(compare(found, kept(0.89))).not.toContain('slid back');
  expect(compare(found, kept(0.91))).toContain('slid back');
  expect(compare(found, kept(0.39))).toContain('better');
});
