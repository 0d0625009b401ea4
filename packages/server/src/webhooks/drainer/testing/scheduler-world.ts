import { beforeEach } from 'vitest';
import type { AttemptRole, EndpointFacts } from '../endpoint.ts';
import { closedBreaker, failuresToOpen } from '../pace.ts';
import { type Claim, Scheduler } from '../scheduler.ts';

export const limits = { total: 100, perTenant: 40, perEndpoint: 16 };

export const facts = (id: string, more: Partial<EndpointFacts> = {}): EndpointFacts => ({
  id,
  lane: 1,
  tenant: `tenant of ${id}`,
  ...closedBreaker,
  pausedMillis: null,
  throttledMillis: null,
  ratePerSecond: null,
  maxInFlight: null,
  hasProbe: false,
  ...more,
});

export const countOf = (plan: readonly Claim[], id: string, kinds = [true, false]) =>
  plan
    .filter((claim) => claim.endpointId === id && kinds.includes(claim.isFresh))
    .reduce((sum, claim) => sum + claim.count, 0);

/** Gives each test a scheduler of its own, whose clock is moved by hand. */
export function prepareScheduler() {
  const world = {
    now: 1000,
    scheduler: new Scheduler(limits, (): number => world.now),
    learn: (id: string, more: Partial<EndpointFacts> = {}): void => {
      world.scheduler.learn(facts(id, more), world.now);
      world.now += 1;
    },
    /** Claims all that is planned, every row of it found. */
    claimAll: (limit = 1000): Claim[] => {
      const plan = world.scheduler.plan(limit);
      for (const claim of plan) {
        const { wakes } = world.scheduler.reserve(claim);
        world.scheduler.settle(claim, claim.count, wakes);
      }
      return plan;
    },
    /** Claims of both kinds, and finds nothing due. */
    claimNothing: (): void => {
      for (let kinds = 0; kinds < 2; kinds += 1) {
        for (const claim of world.scheduler.plan(1000)) {
          const { wakes } = world.scheduler.reserve(claim);
          world.scheduler.settle(claim, 0, wakes);
        }
      }
    },
    finish: (id: string, isFailure: boolean, role: AttemptRole = 'usual') => {
      const change = world.scheduler.end(id, (endpoint) =>
        endpoint.finish({ isFailure, durationMillis: 30, role }),
      );
      world.scheduler.endpoint(id)?.written();
      return change;
    },
    release: (id: string) => world.scheduler.end(id, (endpoint) => endpoint.hold(-1)),
    /** Fails as often as it takes to open the breaker. */
    breakOpen: (id: string): void => {
      for (let failures = 0; failures < failuresToOpen; failures += 1) {
        const [claim] = world.claimAll(1);
        if (claim === undefined) throw new Error('nothing to claim');
        world.finish(id, true);
      }
    },
  };
  beforeEach(() => {
    world.now = 1000;
    world.scheduler = new Scheduler(limits, () => world.now);
  });
  return world;
}
