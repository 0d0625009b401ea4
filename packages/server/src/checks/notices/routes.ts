import { requireAllTenants } from '../../kernel/actor.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { RouteContract } from '../../platform/http/contract.ts';
import type { Handler, HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { noticesContract } from './contract.ts';
import * as queries from './queries.ts';
import {
  changeTarget,
  createTarget,
  deleteTarget,
  listTargets,
  type TargetOptions,
  testTarget,
} from './targets.ts';

const refusal =
  'A token limited to tenants cannot see or change notices, which tell of all tenants.';

export function addNoticeRoutes(
  http: HttpServer,
  db: Database,
  options: TargetOptions & { readonly cursorKey: () => Buffer },
): void {
  const route = <C extends RouteContract>(contract: C, handle: Handler<C>) =>
    http.route(contract, async (call) => {
      requireAllTenants(call.actor, refusal);
      return handle(call);
    });
  route(noticesContract.createNotifyTarget, ({ body, ...caller }) =>
    createTarget(db, options, caller, body),
  );
  route(noticesContract.listNotifyTargets, () => listTargets(db));
  route(noticesContract.changeNotifyTarget, ({ params, body: change, ...caller }) =>
    changeTarget(db, options, caller, { id: params.id, change }),
  );
  route(noticesContract.deleteNotifyTarget, async ({ params, reply, ...caller }) => {
    await deleteTarget(db, options, caller, params.id);
    return reply.send();
  });
  route(noticesContract.testNotifyTarget, ({ params, ...caller }) =>
    testTarget(db, options, caller, params.id),
  );
  route(noticesContract.listNotices, async ({ query }) => {
    const page = {
      ...{ ...query, cursorKey: options.cursorKey() },
      scope: { list: 'notices', filters: {} },
    };
    const rows = await queries.listNotices(db, toKeyset(page));
    return toPage(page, rows, ({ created_at, id }) => [created_at, id]);
  });
}
