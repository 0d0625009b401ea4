import { expect, test } from 'vitest';
import { instantOf } from './jump.tsx';

test.each([
  ['2001-03-05', '2001-03-05T00:00:00.000Z'],
  [' 2001-03-05 14:07 ', '2001-03-05T14:07:00.000Z'],
  ['2001-03-05T14:07:09.123Z', '2001-03-05T14:07:09.123Z'],
  ['2001-02-30 14:07', undefined],
  ['2001-03-05 25:00', undefined],
  ['5 March', undefined],
  ['', undefined],
])('%j is the instant %j', (text, instant) => {
  expect(instantOf(text, 'utc')).toBe(instant);
});
