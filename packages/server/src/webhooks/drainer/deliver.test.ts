import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ringOf } from '../../../test/keyring.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ClaimedRow } from '../claim.ts';
import { createSecretBox } from '../secret.ts';
import { failureClasses } from '../values.ts';
import {
  type ClaimedDelivery,
  defaultSchedule,
  delayAfter,
  EndpointConfigs,
  outcomeOf,
} from './deliver.ts';

const failure = (failureClass: 'status' | 'gone', retryAfterSeconds: number | null = null) => ({
  failureClass,
  retryAfterSeconds,
});
const delivered = { failureClass: null, retryAfterSeconds: null };
const fresh: ClaimedDelivery = { attempts: 0, max_attempts: 8, schedule_from: 0 };

describe('the delay after a failed attempt', () => {
  test('follows the default schedule: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7].map((made) =>
      delayAfter(made, defaultSchedule, null, 0.5),
    );
    expect(delays.map((delay) => delay.seconds)).toEqual([5, 300, 1800, 7200, 18000, 36000, 36000]);
  });

  test('repeats the last step of a schedule', () => {
    expect(delayAfter(9, [1, 2], null, 0.5).seconds).toBe(2);
  });

  test('is varied by a fifth either way, no more', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (made, random) => {
          const middle = delayAfter(made, defaultSchedule, null, 0.5).seconds;
          const { seconds } = delayAfter(made, defaultSchedule, null, random);
          expect(seconds).toBeGreaterThanOrEqual(middle * 0.8 - 1e-9);
          expect(seconds).toBeLessThanOrEqual(middle * 1.2 + 1e-9);
        },
      ),
    );
  });

  test('is lengthened by Retry-After, never shortened', () => {
    expect(delayAfter(1, defaultSchedule, 60, 0.5)).toEqual({ seconds: 60, heldBy: 'retry_after' });
    expect(delayAfter(2, defaultSchedule, 60, 0.5)).toEqual({ seconds: 300, heldBy: 'schedule' });
  });
});

describe('what a delivery becomes by an attempt', () => {
  test.each([
    ['delivered by a success, whatever came before', 7, delivered, 'delivered', null],
    ['pending after a failure, until the next step', 0, failure('status'), 'pending', 5],
    ['abandoned by the last attempt', 7, failure('status'), 'abandoned', null],
    ['abandoned by a 410 at once', 0, failure('gone'), 'abandoned', null],
  ])('is %s', (_name, attempts, result, status, delaySeconds) => {
    const outcome = outcomeOf({ ...fresh, attempts }, result, defaultSchedule, 0.5);
    const maxAttempts = status === 'abandoned' ? attempts + 1 : 8;
    expect(outcome).toMatchObject({ status, attempts: attempts + 1, delaySeconds, maxAttempts });
  });

  test('begins the schedule again after a re-arm', () => {
    const rearmed = { attempts: 8, max_attempts: 16, schedule_from: 8 };
    expect(outcomeOf(rearmed, failure('status'), defaultSchedule, 0.5).delaySeconds).toBe(5);
  });

  test('never leaves the states of the contract, and abandoned means that the budget is spent', () => {
    const result = fc.record({
      failureClass: fc.constantFrom(null, ...failureClasses),
      retryAfterSeconds: fc.option(fc.integer({ min: 0, max: 86_400 })),
    });
    const retried = fc.array(fc.boolean(), { maxLength: 40 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 }),
        fc.array(result, { maxLength: 40 }),
        retried,
        (budget, results, retries) => {
          let delivery: ClaimedDelivery = { attempts: 0, max_attempts: budget, schedule_from: 0 };
          let status = 'queued';
          for (const [i, one] of results.entries()) {
            if (status === 'delivered') return;
            const isParked = status === 'abandoned';
            if (isParked && !retries[i]) continue;
            if (isParked) {
              const { attempts } = delivery;
              delivery = { attempts, max_attempts: attempts + budget, schedule_from: attempts };
            }
            const outcome = outcomeOf(delivery, one, defaultSchedule, 0.5);
            expect(outcome.attempts).toBe(delivery.attempts + 1);
            expect(outcome.attempts).toBeLessThanOrEqual(outcome.maxAttempts);
            expect(outcome.status === 'delivered').toBe(one.failureClass === null);
            expect(outcome.delaySeconds !== null).toBe(outcome.status === 'pending');
            if (outcome.status === 'abandoned') expect(outcome.attempts).toBe(outcome.maxAttempts);
            else if (outcome.status === 'pending')
              expect(outcome.attempts).toBeLessThan(outcome.maxAttempts);
            delivery = {
              ...delivery,
              attempts: outcome.attempts,
              max_attempts: outcome.maxAttempts,
            };
            status = outcome.status;
          }
        },
      ),
    );
  });
});

const rowOf = (id: string): ClaimedRow => ({
  incident_id: 'inc_1',
  request_id: null,
  trace_parent: null,
  lane: 0,
  id: `delivery of ${id}`,
  endpoint_id: id,
  tenant: 'TX',
  idempotency_key: 'msg_1',
  replay_of: null,
  sequence: null,
  order_key: null,
  status: 'queued',
  failure_class: null,
  attempts: 0,
  max_attempts: 8,
  schedule_from: 0,
  age_seconds: 0,
  body: '{}',
  config_version: 1,
  waited_ms: 0,
  throttled_seconds: null,
  is_fresh: true,
});

/** A database in which every endpoint asked for exists. */
const db = {
  query: async ({ values }: { values: unknown[] }) =>
    (values.find(Array.isArray) ?? []).map((id: string) => ({
      id,
      url: 'https://a.example/',
      retry_schedule: null,
      secret: Buffer.alloc(0),
      previous_secrets: [],
      previous_secrets_ms: [],
      config_version: 1,
    })),
} as unknown as Queryable;

test('answers for every row of a claim, also when it makes room for new endpoints', async () => {
  const box = createSecretBox(ringOf(1));
  const configs = new EndpointConfigs(db, () => box);
  const ids = Array.from({ length: 10_001 }, (_, n) => `ep_${n}`);
  await configs.load(ids.map(rowOf));
  await configs.load([rowOf('ep_0'), rowOf('ep_new')]);
  expect(configs.get('ep_0')).toBeDefined();
  expect(configs.get('ep_new')).toBeDefined();
});
