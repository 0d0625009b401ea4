import { AppError } from '../kernel/errors.ts';
import type { SecretBox } from '../webhooks/index.ts';

/** What is known only once the database has answered; null = not ready yet. */
export type State = { cursorKey: Buffer | null; secretBox: SecretBox | null };

/** Throws 503 `not_ready`. */
export function cursorKey(state: State): Buffer {
  if (state.cursorKey !== null) return state.cursorKey;
  throw new AppError('not_ready', {
    detail: 'The service is starting. Try again in a second.',
    retryAfterSeconds: 1,
  });
}

/** Throws 503 `not_ready`. */
export function secretBox(state: Pick<State, 'secretBox'>): SecretBox {
  if (state.secretBox !== null) return state.secretBox;
  throw new AppError('not_ready', { retryAfterSeconds: 1 });
}
