import { type Clock, systemClock } from '../../kernel/clock.ts';
import { createAddressRule, createLookup, type Lookup } from './address.ts';
import { Attempt } from './attempt.ts';
import { createConnectionPool } from './connection-pool.ts';
import type { AttemptResult, Request } from './request.ts';

export type { AttemptResult, Request } from './request.ts';

export type Sender = {
  send(request: Request): Promise<AttemptResult>;
  /** Ends the attempts under way. */
  cut(): void;
  /** Ends idle connections; attempts under way are waited for. */
  close(): Promise<void>;
};

export type SenderOptions = {
  /** For one attempt in all: look-up, connection, TLS, headers and body. */
  readonly timeoutMillis: number;
  /** CIDRs that are allowed although they are special, and that http may go to. */
  readonly allowTargets: readonly string[];
  readonly lookup?: Lookup;
  /** Idle connections kept for the next request, over all receivers. */
  readonly maxIdle?: number;
  /** PEM certificates to trust instead of Node's own list. */
  readonly ca?: string;
  readonly clock?: Clock;
};

/**
 * Sends deliveries over keep-alive connections to addresses that were vetted when connected to. How
 * many at a time is up to the caller.
 */
export function createSender(options: SenderOptions): Sender {
  const pool = createConnectionPool({
    rule: createAddressRule(options.allowTargets),
    lookup: options.lookup ?? createLookup(),
    ca: options.ca,
    maxIdle: options.maxIdle ?? 1000,
  });
  const { timeoutMillis, clock = systemClock } = options;
  const attemptOptions = { pool, timeoutMillis, clock };
  const underWay = new Set<Attempt>();
  const waiting: (() => void)[] = [];
  return {
    send(request) {
      return new Promise((resolve) => {
        const finish = (result: AttemptResult) => {
          resolve(result);
          underWay.delete(attempt);
          if (underWay.size === 0) for (const wake of waiting.splice(0)) wake();
        };
        const attempt = new Attempt(attemptOptions, request, finish);
        underWay.add(attempt);
        attempt.start();
      });
    },
    cut() {
      for (const attempt of underWay) attempt.cut();
    },
    async close() {
      pool.close();
      if (underWay.size > 0) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
