import { type Actor, assertReach, hasScope, requireAllTenants } from '../kernel/actor.ts';
import { AppError, invalidInput } from '../kernel/errors.ts';
import type { Audit } from '../platform/audit.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { isVisitor } from './portal.ts';
import * as queries from './saved-view-queries.ts';
import { type NewSavedView, savedViewsContract } from './saved-views.contract.ts';

const mostViews = 200;

/** What an address has that is only of one moment, or names tenants beside the one that is looked at. */
const passing = ['panel', 'cursor', 'at', 'open', 'q'];

/** Adds the routes of the views that people save in the console. */
export function addSavedViewRoutes(http: HttpServer, db: Database, audit: Audit): void {
  http.route(savedViewsContract.listSavedViews, async ({ actor }) => ({
    data: isVisitor(actor) ? [] : await queries.listSavedViews(db, actor),
    next_cursor: null,
  }));
  http.route(savedViewsContract.putSavedView, ({ params, body, actor }) =>
    saveView(db, { actor, name: params.name, given: body }),
  );
  http.route(
    savedViewsContract.deleteSavedView,
    async ({ params, query, actor, request, reply }) => {
      const { owner: ownerId = actor.tokenId } = query;
      const isOwn = ownerId === actor.tokenId;
      await db.transaction(async (connection) => {
        const view = { ownerId, name: params.name };
        const mayDelete = isOwn || (hasScope(actor, 'admin') && actor.tenants === null);
        const before = mayDelete
          ? await queries.removeSavedView(connection, actor, view)
          : undefined;
        if (before === undefined) throw notFound();
        if (isOwn) return;
        const entry = { actor, request, action: 'view.delete', target: view.name };
        await audit(connection, { ...entry, tenant: before.tenant, before });
      });
      return reply.send();
    },
  );
}

/** Throws 404 `view_not_found` and 409 `view_name_taken` where it is renamed, 409 `views_full`, and 400 `request_invalid`. */
async function saveView(
  db: Database,
  { actor, name, given }: { actor: Actor; name: string; given: NewSavedView },
) {
  const { shared = false, name: next = name } = given;
  if (name.length > 200 || /\p{Cc}/u.test(name)) {
    throw invalidInput('/name', 'must be 1–200 characters, no control characters');
  }
  const { address, tenant } = readAddress(given.address);
  if (tenant !== null) assertReach(actor, tenant);
  else if (shared) requireAllTenants(actor, 'A token limited to tenants shares only views of one.');
  return db.transaction(async (connection) => {
    const owner = actor.tokenId;
    const others = await queries.countOtherViews(connection, owner, name);
    if (others >= mostViews) {
      throw new AppError('views_full', { detail: `${mostViews} is the most. Delete some first.` });
    }
    if (next !== name) {
      if (await queries.hasSavedView(connection, owner, next)) {
        throw new AppError('view_name_taken', { detail: `You have a view "${next}" already.` });
      }
      const view = { ownerId: owner, name };
      if (!(await queries.removeSavedView(connection, actor, view))) throw notFound();
    }
    const view = { name: next, address, shared, tenant };
    const saved = await queries.storeSavedView(connection, owner, view);
    if (saved !== undefined) return saved;
    throw new AppError('scope_missing', { detail: 'A session of the portal saves no views.' });
  });
}

/** An address without what is passing, and the tenant that it names. The first of repeated names counts, as in the console. */
function readAddress(text: string): { address: string; tenant: string | null } {
  const [page = ''] = text.split('?');
  const params = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(text.slice(page.length))) {
    if (!passing.includes(name) && !params.has(name)) params.set(name, value);
  }
  const tenant = params.get('tenant');
  return { address: params.size > 0 ? `${page}?${params.toString()}` : page, tenant };
}

function notFound(): AppError {
  return new AppError('view_not_found', {
    detail: 'There is no such view. GET /views lists yours, and those that are shared.',
  });
}
