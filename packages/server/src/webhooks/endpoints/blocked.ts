import { AppError } from '../../kernel/errors.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import { shiftCounts } from '../dead-letters/queries.ts';
import type { WebhookOptions } from '../options.ts';
import { passOn } from '../order/pass-on.ts';
import * as queries from './blocked-queries.ts';
import { type EndpointCall, withLocked } from './change-endpoint.ts';
import { getEndpoint } from './endpoints.ts';

export function addOrderRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  http.route(webhooksContract.listBlockedKeys, async ({ params: { id }, query, actor }) => {
    await getEndpoint(db, actor, id);
    const scope = { list: 'blocked-keys', filters: { id } };
    const page = { cursorKey: options.cursorKey(), scope, ...query };
    const { after, limit } = toKeyset<readonly [key: string]>(page);
    const rows = await queries.listBlocked(db, id, { after: after?.[0] ?? null, limit });
    return toPage(page, rows, ({ key }) => [key]);
  });
  http.route(webhooksContract.skipHead, (call) => skip(db, options, call));
}

/**
 * Abandons the delivery that a key waits for, and lets the next go. Throws 404 `endpoint_not_found`, 409 `key_not_blocked`.
 */
async function skip(
  db: Database,
  options: Pick<WebhookOptions, 'audit' | 'wakeUp'>,
  call: EndpointCall & { readonly body: { readonly key: string } },
): Promise<{ key: string; skipped: string; next: string | null }> {
  const { key } = call.body;
  const of = { endpointId: call.params.id, key };
  const skipped = await withLocked(db, options, call, async (connection, _, note) => {
    const was = await queries.skipHead(connection, of);
    if (was === undefined) {
      throw new AppError('key_not_blocked', {
        detail: `Nothing of the key "${key}" can be skipped: its first delivery has not failed, or an attempt is under way. GET /webhook/endpoints/${of.endpointId}/blocked lists the keys that are blocked.`,
      });
    }
    const { id, tenant, status, failure_class: failureClass } = was;
    await note('skip', { before: { status }, after: { key, delivery: id, status: 'abandoned' } });
    if (status === 'pending' && failureClass !== null) {
      const count = { endpointId: of.endpointId, tenant, failureClass };
      const deltas = [
        { ...count, status, delta: -1 },
        { ...count, status: 'abandoned' as const, delta: 1 },
      ];
      await shiftCounts(connection, deltas);
    }
    return id;
  });
  // What goes now is looked up before anybody can send it: a fast receiver has had it a moment later.
  const { due, next } = await db.transaction(async (connection) => ({
    due: await passOn(connection, [of]),
    next: await queries.findHead(connection, of),
  }));
  if (due.length > 0) options.wakeUp.wake(due);
  return { key, skipped, next };
}
