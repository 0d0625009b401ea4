import { setTimeout } from 'node:timers/promises';
import { AppError } from '../../kernel/errors.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { busy, withTenantLock } from '../mover/lock.ts';

const pauseMillis = 250;

/** `withTenantLock` that waits for its turn. Throws 409 `tenant_busy` when it does not come in time. */
export async function waitForTenant<T>(
  db: Database,
  tenant: string,
  options: { waitMillis: number; signal: AbortSignal; work: (signal: AbortSignal) => Promise<T> },
): Promise<T> {
  for (let leftMillis = options.waitMillis; ; leftMillis -= pauseMillis) {
    const result = await withTenantLock(db, tenant, options);
    if (result !== busy) return result;
    if (leftMillis <= 0) break;
    await setTimeout(pauseMillis, undefined, { signal: options.signal });
  }
  throw new AppError('tenant_busy', {
    detail: `Data of ${tenant} is being moved, and nothing was erased. Ask again in a minute.`,
    retryAfterSeconds: 60,
  });
}
