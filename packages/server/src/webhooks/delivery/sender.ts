import { type Clock, systemClock } from '../../kernel/clock.ts';
import { createAddressRule, createLookup, type Lookup } from './address.ts';
import { Attempt } from './attempt.ts';
import { createConnectionPool } from './connection-pool.ts';
import type { AttemptResult, Request } from './request.ts';

export type { AttemptResult, Request } from './request.ts';

/** Sends requests to receivers. */
export type Sender = {
  /** Makes one attempt. Never rejects: failures are in the result. */
  send(request: Request): Promise<AttemptResult>;
  /** Ends the attempts that are under way; their results say so (`isCut`). */
  cut(): void;
  /** Closes idle connections and resolves when the attempts under way have ended. */
  close(): Promise<void>;
};

export type SenderOptions = {
  /** The time limit for a whole attempt: look-up, connection, TLS, headers and body. */
  readonly timeoutMillis: number;
  /** CIDRs that are allowed although they are special. http may be used only for addresses inside them. */
  readonly allowTargets: readonly string[];
  readonly lookup?: Lookup;
  /** How many idle connections are kept for later requests, over all receivers; 1000 by default. */
  readonly maxIdle?: number;
  /** PEM certificates to trust instead of Node's own list. */
  readonly ca?: string;
  readonly clock?: Clock;
};

/**
 * Creates a sender with keep-alive connections. Every address is checked when it is connected to. The caller decides
 * how many requests are under way at once.
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
