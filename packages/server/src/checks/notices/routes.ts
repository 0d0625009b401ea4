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
  http.route(noticesContract.createNotifyTarget, (call) => createTarget(db, options, call));
  http.route(noticesContract.listNotifyTargets, ({ actor }) => listTargets(db, actor));
  http.route(noticesContract.changeNotifyTarget, (call) => changeTarget(db, options, call));
  http.route(noticesContract.deleteNotifyTarget, async (call) => {
    await deleteTarget(db, options, call);
    return call.reply.send();
  });
  http.route(noticesContract.testNotifyTarget, (call) => testTarget(db, options, call));
  http.route(noticesContract.listNotices, async ({ query, actor }) => {
    requireAllTenants(actor);
    const page = {
      cursorKey: options.cursorKey(),
      scope: { list: 'notices', filters: {} },
      ...query,
    };
    const rows = await queries.listNotices(db, toKeyset(page));
    return toPage(page, rows, ({ created_at, id }) => [created_at, id]);
  });
}
