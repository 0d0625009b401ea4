import type { Chosen } from '../../kernel/view.ts';
import type { bulkFilters, deadLetterFilters } from '../../webhooks/view.ts';
import { shellQuote } from '../format.ts';

export type DeadLetterOptions = Chosen<typeof deadLetterFilters>;
export type BulkFilters = Chosen<typeof bulkFilters>;

/** The same filter as words of a command line that can be pasted. */
export function filterWords(options: BulkFilters): string {
  return (['status', 'tenant', 'endpoint', 'class', 'type'] as const)
    .flatMap((name) => {
      const value = options[name];
      return value === undefined ? [] : [` --${name} ${shellQuote(value)}`];
    })
    .join('');
}
