import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesEtag, type Piece, parseRange, slicePieces } from './file.ts';

test.each([
  ['bytes=', null],
  ['bytes=-', null],
  ['bytes=5-4', null],
  ['bytes=0-1,3-4', null],
  ['items=0-1', null],
  ['bytes=a-b', null],
  [undefined, null],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=10-12', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=0-', { start: 0, end: 10 }],
  ['bytes=9-', { start: 9, end: 10 }],
  ['bytes=2-3', { start: 2, end: 4 }],
  ['bytes=2-99', { start: 2, end: 10 }],
  ['bytes=-3', { start: 7, end: 10 }],
  ['bytes=-99', { start: 0, end: 10 }],
  ['Bytes=0-0 ', { start: 0, end: 1 }],
])('of ten bytes %s is %j', (header, range) => {
  expect(parseRange(header, 10)).toEqual(range);
});

test('nothing of an empty file can be asked for', () => {
  expect(parseRange('bytes=0-', 0)).toBe('unsatisfiable');
  expect(parseRange('bytes=-1', 0)).toBe('unsatisfiable');
});

test.each([
  [undefined, false],
  ['"b"', false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b", "a"', true],
  ['*', true],
])('If-None-Match %s matches "a": %s', (header, isMatch) => {
  expect(matchesEtag(header, '"a"')).toBe(isMatch);
});

test('any range of a file is the slice of its bytes, however it lies in objects', () => {
  const object = fc.record({
    content: fc.uint8Array({ maxLength: 20 }),
    start: fc.nat(20),
    end: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(object, { maxLength: 6 }), fc.nat(), fc.nat(), (objects, x, y) => {
      const contents = new Map<string, Uint8Array>();
      const pieces = objects.map(({ content, start, end }, at): Piece => {
        const key = String(at);
        contents.set(key, content);
        const [from, to] = [Math.min(start, end), Math.max(start, end)];
        const within = (place: number) => Math.min(place, content.length);
        return {
          ref: { key, sizeBytes: content.length, sha256: Buffer.alloc(32) },
          start: within(from),
          end: within(to),
        };
      });
      const read = (some: readonly Piece[]) =>
        Buffer.concat(
          some.map(({ ref, start, end }) =>
            (contents.get(ref.key) ?? new Uint8Array()).slice(start, end),
          ),
        );
      const whole = read(pieces);
      const [a, b] = [x % (whole.length + 2), y % (whole.length + 2)];
      const range = { start: Math.min(a, b), end: Math.max(a, b) };
      const sliced = slicePieces(pieces, range);
      expect(read(sliced)).toEqual(whole.subarray(range.start, range.end));
      for (const { start, end } of sliced) expect(start).toBeLessThan(end);
    }),
  );
});
