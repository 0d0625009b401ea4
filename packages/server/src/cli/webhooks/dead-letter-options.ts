import {
  type DeadLetterStatus,
  deadLetterStatuses,
  type FailureClass,
  failureClasses,
} from '../../webhooks/values.ts';
import { shellQuote } from '../format.ts';
import { usage } from '../help.ts';
import { type OptionRow, tenantOption } from '../verb.ts';

/** Options that choose rows of the dead-letter queue. */
export type DeadLetterOptions = {
  status?: DeadLetterStatus;
  tenant?: string;
  endpoint?: string;
  class?: FailureClass;
};

export const statusOption = (help: string) =>
  ['--status <status>', help, deadLetterStatuses] as const satisfies OptionRow;

/** The options that limit the queue to a tenant or an endpoint. */
export const reachOptions: readonly OptionRow[] = [
  tenantOption,
  ['--endpoint <id>', 'only to this endpoint'],
];
export const classOption: OptionRow = ['--class <class>', 'only what failed so', failureClasses];

/** The status, which must be given. Throws `usage_invalid`, and names both, when it is not. */
export function requiredStatus(status: DeadLetterStatus | undefined): DeadLetterStatus {
  if (status !== undefined) return status;
  throw usage('--status is missing. Give --status pending or --status abandoned.');
}

/** The filter, by the names of the API. */
export function deadLetterFilter({ status, tenant, endpoint, class: failure }: DeadLetterOptions) {
  return { status, tenant, endpoint_id: endpoint, failure_class: failure };
}

/** The same filter as words of a command line that can be pasted. */
export function filterWords(options: DeadLetterOptions): string {
  return (['status', 'tenant', 'endpoint', 'class'] as const)
    .flatMap((name) => {
      const value = options[name];
      return value === undefined ? [] : [` --${name} ${shellQuote(value)}`];
    })
    .join('');
}
