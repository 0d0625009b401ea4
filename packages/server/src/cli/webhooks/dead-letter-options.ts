import { type Command, Option } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import {
  type DeadLetterStatus,
  deadLetterStatuses,
  type FailureClass,
  failureClasses,
} from '../../webhooks/values.ts';
import { shellQuote } from '../format.ts';

/** Options that choose rows of the dead-letter queue. */
export type DeadLetterOptions = {
  status?: DeadLetterStatus;
  tenant?: string;
  endpoint?: string;
  class?: FailureClass;
};

export function addStatus(command: Command, help: string): Command {
  return command.addOption(new Option('--status <status>', help).choices(deadLetterStatuses));
}

/** Adds the options that limit the queue to a tenant or an endpoint. */
export function addReach(command: Command): Command {
  return command
    .option('--tenant <tenant>', 'only of this tenant')
    .option('--endpoint <id>', 'only to this endpoint');
}

export function addClass(command: Command): Command {
  return command.addOption(
    new Option('--class <class>', 'only what failed so').choices(failureClasses),
  );
}

/** The status, which must be given. Throws `usage_invalid`, and names both, when it is not. */
export function requiredStatus(status: DeadLetterStatus | undefined): DeadLetterStatus {
  if (status !== undefined) return status;
  throw new AppError('usage_invalid', {
    detail: '--status is missing. Give --status pending or --status abandoned.',
  });
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
