import type { Route } from './client.ts';
import { type JsonOption, picker } from './output.ts';

/**
 * The names that `--json a,b` may select: the members of what the route answers, or of the rows in its member `list`.
 * Throws `usage_invalid` for any other.
 */
export async function fieldsOf(
  json: JsonOption,
  route: Route,
  list = 'data',
): Promise<readonly string[]> {
  if (typeof json !== 'string') return [];
  const { answerFields } = await import('./answer-fields.ts');
  const fields = answerFields[`${route} ${list}`] ?? answerFields[route] ?? [];
  picker(json, fields);
  return fields;
}
