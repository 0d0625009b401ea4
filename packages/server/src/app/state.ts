import { AppError } from '../kernel/errors.ts';
import type { SecretBox } from '../webhooks/index.ts';

/** The keys that are known only once the database has answered. Until then they are null and calls get 503. */
export type State = { cursorKey: Buffer | null; secretBox: SecretBox | null };

/** Returns the key that signs cursors. Throws 503 `not_ready` while the service starts. */
export function cursorKey(state: State): Buffer {
  if (state.cursorKey !== null) return state.cursorKey;
  throw new AppError('not_ready', {
    detail: 'The service is starting. Try again in a second.',
    retryAfterSeconds: 1,
  });
}

/** Returns the box that encrypts and decrypts webhook secrets. Throws 503 `not_ready` while the service starts. */
export function secretBox(state: Pick<State, 'secretBox'>): SecretBox {
  if (state.secretBox !== null) return state.secretBox;
  throw new AppError('not_ready', { retryAfterSeconds: 1 });
}
