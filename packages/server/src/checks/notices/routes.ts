import { toKeyset, toPage } from '../../kernel/page.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { noticesContract } from './contract.ts';
import * as queries from './queries.ts';
import {
  changeTarget,
  createTarget,
  deleteTarget,
  listTargets,
  requireAllTenants,
  type TargetOptions,
  testTarget,
} from './targets.ts';

export function addNoticeRoutes(
  http: HttpServer,
  db: Database,
  options: TargetOptions & { readonly cursorKey: () => Buffer },
): void {
  http.route(noticesContract.createNotifyTarget, ({ body, actor, request }) =>
    createTarget(db, options, { actor, request }, body),
  );
  http.route(noticesContract.listNotifyTargets, ({ actor }) => listTargets(db, actor));
  http.route(noticesContract.changeNotifyTarget, ({ params, body, actor, request }) =>
    changeTarget(db, options, { actor, request }, { id: params.id, change: body }),
  );
  http.route(noticesContract.deleteNotifyTarget, async ({ params, actor, request, reply }) => {
    await deleteTarget(db, options, { actor, request }, params.id);
    return reply.send();
  });
  http.route(noticesContract.testNotifyTarget, ({ params, actor, request }) =>
    testTarget(db, options, { actor, request }, params.id),
  );
  http.route(noticesContract.listNotices, async ({ query, actor }) => {
    requireAllTenants(actor);
    const { limit, cursor } = query;
    const page = {
      cursorKey: options.cursorKey(),
      scope: { list: 'notices', filters: {} },
      limit,
      cursor,
    };
    const rows = await queries.listNotices(db, toKeyset(page));
    return toPage(page, rows, ({ created_at, id }) => [created_at, id]);
  });
}
