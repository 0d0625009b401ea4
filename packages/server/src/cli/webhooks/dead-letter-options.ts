import type { Chosen } from '../../kernel/view.ts';
import type { DeadLetterStatus } from '../../webhooks/values.ts';
import type { bulkFilters, deadLetterFilters } from '../../webhooks/view.ts';
import { shellQuote } from '../format.ts';
import { usage } from '../help.ts';

export type DeadLetterOptions = Chosen<typeof deadLetterFilters>;
export type BulkFilters = Chosen<typeof bulkFilters>;

/** The status, which must be given. Throws `usage_invalid`, and names both, when it is not. */
export function requiredStatus(status: DeadLetterStatus | undefined): DeadLetterStatus {
  if (status !== undefined) return status;
  throw usage('--status is missing. Give --status pending or --status abandoned.');
}

/** The same filter as words of a command line that can be pasted. */
export function filterWords(options: BulkFilters): string {
  return (['status', 'tenant', 'endpoint', 'class', 'type'] as const)
    .flatMap((name) => {
      const value = options[name];
      return value === undefined ? [] : [` --${name} ${shellQuote(value)}`];
    })
    .join('');
}
