import { expect, test } from 'vitest';
import { readKept, withPlace } from './recents.ts';

const place = (n: number) => ({ name: `${n}`, note: '', href: `#/records?tenant=${n}` });

test('the latest place stands first, once, and the oldest goes', () => {
  const places = Array.from({ length: 8 }, (_, n) => place(n));
  expect(
    withPlace(places, place(3))
      .map(({ name }) => name)
      .join(''),
  ).toBe('30124567');
  expect(
    withPlace(places, place(9))
      .map(({ name }) => name)
      .join(''),
  ).toBe('90123456');
});

test.each([undefined, '', '{', '[]', '{"of":1,"places":[]}', '{"of":"a"}', 'null'])(
  '%j in the browser is no list',
  (text) => {
    expect(readKept(text)).toBeNull();
  },
);

test('only places of this console are read', () => {
  const other = { name: 'x', note: '', href: 'javascript:alert(1)' };
  const text = JSON.stringify({ of: 'me', places: [other, place(1), { name: 'y' }] });
  expect(readKept(text)).toEqual({ of: 'me', places: [place(1)] });
});
