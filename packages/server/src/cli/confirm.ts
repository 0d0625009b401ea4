import { AppError } from '../kernel/errors.ts';
import type { Context } from './context.ts';

export type Question = {
  /** "Revoke tok_1? …": the prompt. */
  question: string;
  /** "Revoke": what --yes does without asking. */
  act: string;
  /** "Nothing was revoked.": what is said after a no. */
  refused: string;
};

/**
 * Asks y/N at the terminal unless --yes was given. Throws `usage_invalid` where there is no terminal to
 * ask at, `interrupted` after a no.
 */
export async function confirm(
  context: Context,
  yes: true | undefined,
  { question, act, refused }: Question,
): Promise<void> {
  if (yes) return;
  assertCanAsk(context, act);
  const { askYes } = await import('./prompt.ts');
  if (!(await askYes(context, question))) throw new AppError('interrupted', { detail: refused });
}

/** Throws `usage_invalid` where there is no terminal to ask at. */
export function assertCanAsk({ io }: Context, act: string): void {
  if (io.stdin.isTTY === true && io.stderr.isTTY === true) return;
  throw new AppError('usage_invalid', {
    detail: `There is no terminal to ask at. ${act} without asking: --yes`,
  });
}
