import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/runs.ts';
import { formatMicros, parseInstant } from './instant.ts';

const pad = (value: number, length = 2) => String(value).padStart(length, '0');

const partsArbitrary = fc.record({
  year: fc.integer({ min: 1700, max: 2254 }),
  month: fc.integer({ min: 0, max: 13 }),
  day: fc.oneof(fc.integer({ min: 0, max: 32 }), fc.integer({ min: 27, max: 31 })),
  hour: fc.integer({ min: 0, max: 24 }),
  minute: fc.integer({ min: 0, max: 60 }),
  second: fc.integer({ min: 0, max: 60 }),
  fraction: fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 7 }),
  offset: fc.option(fc.record({ sign: fc.constantFrom(1, -1), minutes: fc.nat(23 * 60 + 59) })),
});

test('an instant is what Date.UTC makes of its parts, and null when a part rolls over', () => {
  fc.assert(
    fc.property(partsArbitrary, ({ year, month, day, hour, minute, second, fraction, offset }) => {
      const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
      const text =
        `${year}-${pad(month)}-${pad(day)}T${pad(hour)}:${pad(minute)}:${pad(second)}` +
        (fraction === '' ? '' : `.${fraction}`) +
        (offset === null
          ? 'Z'
          : (offset.sign < 0 ? '-' : '+') +
            `${pad(Math.floor(offset.minutes / 60))}:${pad(offset.minutes % 60)}`);
      const isReal =
        date.getUTCMonth() === month - 1 &&
        date.getUTCDate() === day &&
        date.getUTCHours() === hour &&
        date.getUTCMinutes() === minute &&
        date.getUTCSeconds() === second &&
        fraction.length <= 6;
      const offsetMillis = offset === null ? 0 : offset.sign * offset.minutes * 60_000;
      const micros = (date.getTime() - offsetMillis) * 1000 + Number(fraction.padEnd(6, '0'));
      expect([text, parseInstant(text)]).toEqual([text, isReal ? micros : null]);
    }),
    { numRuns: runs(3000) },
  );
});

test('an instant is written with six fraction digits and read back', () => {
  const limit = Number.MAX_SAFE_INTEGER;
  fc.assert(
    fc.property(fc.integer({ min: -limit, max: limit }), (micros) => {
      const text = formatMicros(micros);
      const ms = Math.floor(micros / 1000);
      expect(text.slice(0, 23)).toBe(new Date(ms).toISOString().slice(0, 23));
      expect(text.slice(23)).toBe(`${pad(micros - ms * 1000, 3)}Z`);
      expect(parseInstant(text)).toBe(micros);
    }),
    { numRuns: runs(3000) },
  );
});

test.each([
  ['1970-01-01T00:00:00Z', 0],
  ['1970-01-01T00:00:00-00:00', 0],
  ['1969-12-31T23:59:59.999999Z', -1],
  ['2000-02-29T12:00:00.5Z', 951_825_600_500_000],
  ['2001-03-01T00:05:00+05:30', 983_385_300_000_000],
])('%s is %d', (text, micros) => {
  expect(parseInstant(text)).toBe(micros);
});

test.each([
  '',
  '2001-03-01',
  '2001-03-01T00:05Z',
  '2001-03-01T00:05:00',
  '2001-03-01 00:05:00Z',
  '2001-03-01t00:05:00z',
  ' 2001-03-01T00:05:00Z',
  '2001-03-01T00:05:00Z ',
  '2001-03-01T00:05:00.Z',
  '2001-03-01T00:05:00,5Z',
  '2001-03-01T00:05:00.1234567Z',
  '2001-03-01T00:05:00+0530',
  '2001-03-01T00:05:00+24:00',
  '2001-03-01T00:05:00+05:60',
  '2001-03-01T24:00:00Z',
  '2016-12-31T23:59:60Z',
  '2001-02-29T00:00:00Z',
  '1900-02-29T00:00:00Z',
  '2001-04-31T00:00:00Z',
  '2001-00-10T00:00:00Z',
  '+002001-03-01T00:05:00Z',
  '20०1-03-01T00:05:00Z',
  '9999-12-31T23:59:59Z',
  '0001-01-01T00:00:00Z',
])('%j is not an instant', (text) => {
  expect(parseInstant(text)).toBeNull();
});
