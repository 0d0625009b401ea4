import type { RowOutcome } from '../values.ts';

/** How outcomes are told after a count: `23 wait for the breaker`. */
export const outcomeWords: Readonly<Record<RowOutcome, string>> = {
  delivered: 'delivered',
  failed_again: 'failed again',
  abandoned: 'abandoned again',
  waits_for_breaker: 'wait for the breaker',
  waits_for_endpoint: 'wait for their endpoint',
  under_way: 'on their way',
  discarded: 'discarded',
  retried_since: 'retried since',
};
