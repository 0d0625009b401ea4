import { describe, expect, test } from 'vitest';
import { ApiError } from '../api/client.ts';
import {
  delayAfter,
  describeFailure,
  failureOf,
  nextOutage,
  type Outage,
  type QueryState,
} from './outage.ts';

const failure = (status: number, retryAfterSeconds: number | null = null) =>
  new ApiError({ status, code: 'x', detail: 'y', retryAfterSeconds });
const noJitter = () => 0;

function stateOf(change: Partial<QueryState>): QueryState {
  return {
    status: 'success',
    dataUpdatedAt: 1_000,
    errorUpdatedAt: 0,
    errorUpdateCount: 0,
    error: null,
    ...change,
  };
}

const failed = (count: number, at: number, error: Error = failure(503)) =>
  stateOf({ status: 'error', error, errorUpdatedAt: at, errorUpdateCount: count });

describe('the next try', () => {
  test.each([
    [1, 2_000],
    [2, 4_000],
    [3, 8_000],
    [4, 12_000],
    [1_000, 12_000],
  ])('after failure %d is %d ms later', (failures, millis) => {
    expect(delayAfter(failure(503), failures, noJitter)).toBe(millis);
    // What comes back is noticed as soon as a list would be read again.
    expect(delayAfter(failure(503), failures, () => 1)).toBeLessThan(15_000);
  });

  test.each([0, 429, 500, 502, 503])('comes after a %d', (status) => {
    expect(delayAfter(failure(status), 1, noJitter)).toBe(2_000);
  });

  test.each([400, 401, 403, 404, 409])('does not come after a %d', (status) => {
    expect(delayAfter(failure(status), 1, noJitter)).toBeNull();
  });

  test('does not come after a fault of the page', () => {
    expect(delayAfter(new TypeError('x'), 1, noJitter)).toBeNull();
  });

  test('is not before Retry-After, and up to a fifth later', () => {
    expect(delayAfter(failure(429, 30), 1, noJitter)).toBe(30_000);
    expect(delayAfter(failure(429, 30), 1, () => 1)).toBe(36_000);
  });
});

describe('an outage', () => {
  const first = nextOutage(undefined, failed(1, 5_000), noJitter);

  test('begins with the first failure', () => {
    expect(first).toMatchObject({ since: 5_000, failures: 1, nextTryAt: 7_000 });
  });

  test('is the same object until it fails again, so that timers may rest', () => {
    expect(nextOutage(first, failed(1, 5_000), Math.random)).toBe(first);
  });

  test('goes on with the next failure', () => {
    const second = nextOutage(first, failed(2, 7_100), noJitter);
    expect(second).toMatchObject({ since: 5_000, failures: 2, nextTryAt: 11_100 });
  });

  test('goes on while a first load is tried again and shows no error', () => {
    const firstLoad = (change: Partial<QueryState>) => stateOf({ dataUpdatedAt: 0, ...change });
    const begun = nextOutage(undefined, { ...failed(1, 5_000), dataUpdatedAt: 0 }, noJitter);
    const trying = firstLoad({ status: 'pending', errorUpdateCount: 1, errorUpdatedAt: 5_000 });
    expect(nextOutage(begun, trying, noJitter)).toBe(begun);
  });

  test('ends with a good answer', () => {
    expect(nextOutage(first, stateOf({ dataUpdatedAt: 9_000 }), noJitter)).toBeUndefined();
  });

  test('is a new one when good answers lie between', () => {
    const later = { ...failed(2, 60_000), dataUpdatedAt: 50_000 };
    expect(nextOutage(first, later, noJitter)).toMatchObject({ since: 60_000, failures: 1 });
  });
});

describe('what the banner tells', () => {
  const outage = (since: number, error: Error = failure(503)): Outage => ({
    error,
    since,
    failures: 1,
    delayMillis: 2_000,
    nextTryAt: since + 2_000,
    dataUpdatedAt: 1_000,
    errorUpdateCount: 1,
  });
  const good = (dataUpdatedAt: number, isStale = true) => ({
    state: stateOf({ dataUpdatedAt }),
    outage: undefined,
    isStale,
    isTrying: true,
  });
  const failing = (since: number, error?: Error) => ({
    state: failed(1, since, error),
    outage: outage(since, error),
    isStale: false,
    isTrying: false,
  });

  test('is nothing while nothing fails', () => {
    expect(failureOf([])).toBeNull();
    expect(failureOf([good(0), good(3_000)])).toBeNull();
  });

  test('is the outage that has lasted longest, and of when the oldest data is that could be newer', () => {
    const told = failureOf([good(3_000), good(500, false), failing(6_000), failing(5_000)]);
    expect(told).toMatchObject({ dataOf: 1_000, outage: { since: 5_000 }, isTrying: false });
    expect(failureOf([{ ...failing(5_000), isTrying: true }])).toMatchObject({ isTrying: true });
  });

  test('leaves a 401 to the sign-in dialog, and what was never read and will not pass to its place', () => {
    expect(failureOf([failing(5_000, failure(401))])).toBeNull();
    expect(failureOf([failing(5_000, failure(404))])).not.toBeNull();
    const unread = (error: Error) => ({
      ...failing(5_000, error),
      state: { ...failed(1, 5_000, error), dataUpdatedAt: 0 },
    });
    expect(failureOf([unread(failure(404))])).toBeNull();
    expect(failureOf([unread(failure(503))])).toMatchObject({ dataOf: 0 });
  });
});

test.each([
  [0, 'No connection'],
  [403, 'No access'],
  [404, 'Not found'],
  [429, '429 Too many requests'],
  [503, '503 from the service'],
  [409, '409 refused'],
])('a %d is called “%s”', (status, text) => {
  expect(describeFailure(failure(status))).toBe(text);
});
