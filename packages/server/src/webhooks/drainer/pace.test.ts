import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Rate, restAfter, scanMillis } from './pace.ts';

const step = fc.record({
  /** Until what is claimed in it goes out, one after the other. */
  gaps: fc.array(fc.double({ min: 0, max: 400, noNaN: true }), { maxLength: 20 }),
  pauseMillis: fc.double({ min: 0, max: 1500, noNaN: true }),
  /** Of what is allowed, how much is claimed. */
  wanted: fc.integer({ min: 0, max: 20 }),
});

test('never more than the rate goes out in any window of a second, and all of it can', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(step, { maxLength: 40 }),
      (limit, steps) => {
        const rate = new Rate(limit);
        const sentAt: number[] = [];
        let now = 0;
        for (const { gaps, pauseMillis, wanted } of steps) {
          const count = Math.min(wanted, rate.available(now));
          rate.hold(count);
          // Some of them find nothing to send.
          const found = Math.min(count, gaps.length);
          rate.hold(found - count);
          for (const gap of gaps.slice(0, found)) {
            now += gap;
            expect(rate.available(now)).toBeGreaterThanOrEqual(0);
            rate.hold(-1);
            rate.noteSent(now);
            sentAt.push(now);
          }
          now += pauseMillis;
        }
        for (const [i, at] of sentAt.entries()) {
          const inWindow = sentAt.slice(0, i + 1).filter((other) => other >= at - 1000);
          expect(inWindow.length).toBeLessThanOrEqual(limit);
        }
        expect(rate.available(now + 2000)).toBe(limit);
      },
    ),
  );
});

test('what is claimed counts until it is sent, however long that takes', () => {
  const rate = new Rate(5);
  rate.hold(5);
  expect(rate.available(60_000)).toBe(0);
  for (let n = 0; n < 5; n += 1) {
    rate.hold(-1);
    rate.noteSent(60_000);
  }
  expect(rate.available(60_999)).toBe(0);
  expect(rate.available(61_020)).toBe(5);
});

test('a short look is followed at once, and a long one after four times as long', () => {
  expect(restAfter(0)).toBe(10);
  expect(restAfter(50)).toBe(200);
});

test('a drainer never rests longer than it would without a call, so that nothing due waits', () => {
  expect(restAfter(250)).toBe(scanMillis);
  expect(restAfter(400)).toBe(scanMillis);
  expect(restAfter(10_000)).toBe(scanMillis);
});
