import { describe, expect, test } from 'vitest';
import { Throttle } from './throttle.ts';

/** Says of a request at this time whether it takes it, or for how many seconds it wants to be left alone. */
type Receiver = (nowMillis: number) => { retryAfter: number | null } | 'accepted';

/** So many in each second of its clock, or in each minute. */
const inWindows = (count: number, windowMillis = 1000, tells = true, told?: number): Receiver => {
  let [window, taken] = [0, 0];
  return (now) => {
    if (Math.floor(now / windowMillis) !== window) {
      [window, taken] = [Math.floor(now / windowMillis), 0];
    }
    taken += 1;
    const left = (window + 1) * windowMillis - now;
    if (taken <= count) return 'accepted';
    return { retryAfter: tells ? (told ?? Math.ceil(left / 1000)) : null };
  };
};

const bucket = (perSecond: number, size: number): Receiver => {
  let [tokens, at] = [size, 0];
  return (now) => {
    tokens = Math.min(size, tokens + ((now - at) * perSecond) / 1000);
    at = now;
    if (tokens < 1) return { retryAfter: 1 };
    tokens -= 1;
    return 'accepted';
  };
};

/** So many in any second. */
const sliding = (count: number): Receiver => {
  const taken: number[] = [];
  return (now) => {
    while ((taken[0] ?? now) <= now - 1000) taken.shift();
    if (taken.length >= count) return { retryAfter: 1 };
    taken.push(now);
    return 'accepted';
  };
};

/** Sends what it may, looked at every 20 ms, for so long; an answer takes 30 ms, and 8 are under way at most. */
function send(receiver: Receiver, seconds: number, throttle = new Throttle(), from = 0) {
  const sum = { accepted: 0, refused: 0 };
  const underWay: { endsAt: number; sentAt: number; answer: ReturnType<Receiver> }[] = [];
  for (let now = from; now < from + seconds * 1000; now += 20) {
    while (underWay[0] !== undefined && underWay[0].endsAt <= now) {
      const { answer, sentAt } = underWay[0];
      underWay.shift();
      if (answer === 'accepted') throttle.noteAccepted(now);
      else throttle.noteRefused(now, { sentAt, retryAfterSeconds: answer.retryAfter });
      sum[answer === 'accepted' ? 'accepted' : 'refused'] += 1;
    }
    const count = Math.min(8 - underWay.length, throttle.available(now));
    throttle.hold(count);
    for (let n = 0; n < count; n += 1) {
      underWay.push({ endsAt: now + 30, sentAt: now, answer: receiver(now + 15) });
    }
  }
  return sum;
}

describe('a receiver that refuses what is too much', () => {
  test.each([
    ['5 in each second', () => inWindows(5), 5],
    ['5 in each second, and does not say until when', () => inWindows(5, 1000, false), 5],
    ['5 in each second, and says "now", or a time past', () => inWindows(5, 1000, true, 0), 5],
    ['5 in any second', () => sliding(5), 5],
    ['5 a second and 10 at once', () => bucket(5, 10), 5],
    ['5 a second, one by one', () => bucket(5, 1), 5],
    ['50 in each second', () => inWindows(50), 50],
    ['30 in each minute', () => inWindows(30, 60_000), 0.5],
  ])('gets nine tenths of what it takes: %s', (_name, receiver, perSecond) => {
    const { accepted, refused } = send(receiver(), 1200);
    expect(accepted / (1200 * perSecond)).toBeGreaterThan(0.9);
    expect(refused / accepted).toBeLessThan(0.1);
  });

  test('gets more when it takes more, and soon all there is', () => {
    const throttle = new Throttle();
    send(inWindows(5), 120, throttle);
    expect(throttle.isPacing(120_000)).toBe(true);
    send(inWindows(1000), 300, throttle, 120_000);
    expect(throttle.available(420_000)).toBe(Number.POSITIVE_INFINITY);
    expect(throttle.isPacing(420_000)).toBe(false);
  });

  test('is left alone until the time that it names, whatever is answered meanwhile', () => {
    const throttle = new Throttle();
    const refused = { sentAt: 900, retryAfterSeconds: 3600 };
    expect(throttle.noteRefused(1000, refused)).toBe(3600);
    expect(throttle.noteRefused(2000, { ...refused, retryAfterSeconds: 1 })).toBe(3599);
    throttle.noteAccepted(2001);
    expect(throttle.available(3_600_999)).toBe(0);
    expect(throttle.isHeld(3_600_999)).toBe(true);
    expect(throttle.available(3_601_000)).toBe(1);
  });

  test('is asked less and less often while it refuses all and does not say until when', () => {
    const throttle = new Throttle();
    const pauses: number[] = [];
    for (let now = 0, n = 0; n < 8; n += 1) {
      const pause = throttle.noteRefused(now, { sentAt: now, retryAfterSeconds: null });
      pauses.push(pause);
      now += pause * 1000;
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  test('is refused once by many that were on their way together', () => {
    const [one, many] = [new Throttle(), new Throttle()];
    for (const throttle of [one, many]) {
      for (let n = 0; n < 20; n += 1) throttle.noteAccepted(n);
      throttle.noteRefused(1000, { sentAt: 990, retryAfterSeconds: 1 });
    }
    for (let n = 0; n < 20; n += 1) many.noteRefused(1000, { sentAt: 990, retryAfterSeconds: 1 });
    expect(many.available(2500)).toBe(one.available(2500));
  });
});
