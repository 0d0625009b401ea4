import { ApiError, isStepUp } from '../api/client.ts';
import { reasonOf } from './outage.ts';

/** These codes name no field, but are about a URL. */
const urlCodes = ['target_invalid', 'target_blocked'];

/**
 * What the service refuses, by the field of the form that it is about; `''` collects the rest. There is none when the
 * person closed the question for the token. `renamed` are members of the body that have another name in the form.
 */
export function faultsOf(
  error: Error | null,
  fields: readonly string[],
  renamed: Readonly<Record<string, string>> = {},
): Readonly<Partial<Record<string, string>>> {
  if (error === null || isStepUp(error)) return {};
  const byField: Record<string, string> = {};
  const add = (member: string, message: string) => {
    const field = renamed[member] ?? member;
    const name = fields.includes(field) ? field : '';
    byField[name] = [byField[name], message].filter(Boolean).join(' ');
  };
  if (error instanceof ApiError && error.errors.length > 0) {
    for (const { path, message } of error.errors) add(path.split('/')[1] ?? '', message);
  } else if (error instanceof ApiError && urlCodes.includes(error.code)) add('url', error.detail);
  else add('', reasonOf(error));
  return byField;
}
