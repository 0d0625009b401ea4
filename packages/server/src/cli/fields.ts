import type { Route } from './client.ts';
import { usage } from './help.ts';

/**
 * What a command prints as JSON: what a route answers, each row of a list in that answer (`GET /exports data`), or an
 * object with these members.
 */
export type Answers = Route | `${Route} ${string}` | readonly string[];

/** The names that `--json a,b` may select. */
export async function fieldsOf(answers: Answers | undefined): Promise<readonly string[]> {
  if (typeof answers === 'object') return answers;
  const { answerFields } = await import('./answer-fields.ts');
  return answerFields[answers ?? ''] ?? [];
}

/** Throws `usage_invalid` when --json selects what is not there. */
export async function checkFields(json: unknown, answers: Answers | undefined): Promise<void> {
  if (typeof json !== 'string') return;
  const known = await fieldsOf(answers);
  for (const field of selectedBy(json)) {
    if (known.includes(field)) continue;
    throw usage(`--json: there is no field "${field}". There are: ${known.join(', ')}.`);
  }
}

/** The fields that --json names. */
export function selectedBy(json: string): string[] {
  return json.split(',').map((field) => field.trim());
}
