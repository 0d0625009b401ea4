import { ApiError } from '../api-error.ts';
import { createClient } from '../client.ts';
import type { Context } from '../context.ts';

export type Registration = {
  readonly id: string;
  readonly secret: string;
  /** Also after an interruption. */
  remove(): Promise<void>;
};

/** Makes a receiver here an endpoint of the tenant. */
export async function register(
  context: Context,
  url: string,
  tenant: string,
): Promise<Registration> {
  const client = await context.connect();
  const body = { tenant, url, description: 'svcctl listen' };
  const { id, secret } = await client.json('POST /webhook/endpoints', { body }).catch(explain);
  return {
    id,
    secret,
    async remove() {
      // The signal of the command may have aborted already, which is why it ends.
      const io = { ...context.io, signal: new AbortController().signal };
      await createClient(io, client.connection).json('DELETE /webhook/endpoints/:id', {
        params: { id },
      });
    },
  };
}

function explain(error: unknown): never {
  if (error instanceof ApiError && ['target_blocked', 'target_invalid'].includes(error.code)) {
    error.advice.push(
      'The service sends to this machine only if it was started with the address allowed:',
      'SVC_ALLOW_TARGETS=127.0.0.0/8 svcctl serve',
    );
  }
  throw error;
}
