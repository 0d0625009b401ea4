import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { emptyPage, type Page, toKeyset, toPage } from '../../kernel/page.ts';
import type { Audit } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { DatasetName } from '../values.ts';
import { type Version, versionsContract } from '../versions.contract.ts';
import { createVersion, type VersionAct } from './create-version.ts';
import * as queries from './queries.ts';
import { toVersion } from './version.ts';

export type VersionOptions = {
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  /** Tells this process that there is a version to count. Without the role that counts it does nothing. */
  readonly pokeCounting: () => void;
};

export function addVersionRoutes(
  http: HttpServer,
  db: Database,
  { cursorKey, audit, pokeCounting }: VersionOptions,
): void {
  http.route(versionsContract.createVersion, async ({ body, actor, request }) => {
    const version = await createVersion(db, { actor, request, audit }, body);
    pokeCounting();
    return version;
  });
  http.route(versionsContract.listVersions, ({ query, actor }) =>
    listVersions(db, cursorKey(), actor, query),
  );
  http.route(versionsContract.getVersion, ({ params, actor }) => getVersion(db, actor, params.id));
  http.route(versionsContract.deleteVersion, async ({ params, actor, request, reply }) => {
    await deleteVersion(db, { actor, request, audit }, params.id);
    return reply.send();
  });
}

type VersionsRequest = {
  tenant?: string;
  dataset?: DatasetName;
  limit?: number;
  cursor?: string;
};

/** Returns one page of the versions that the caller reaches, the latest first. Throws 400 `cursor_invalid`. */
async function listVersions(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: VersionsRequest,
): Promise<Page<Version>> {
  const { tenant, dataset, limit, cursor } = request;
  const scope = { list: 'dataset-versions', filters: { tenant, dataset } };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset(page);
  if (tenant !== undefined && !mayTouchTenant(actor, tenant)) return emptyPage();
  const filter = { tenant, dataset, tenants: actor.tenants };
  const rows = await queries.listVersions(db, filter, keyset);
  const { data, next_cursor } = toPage(page, rows, (row) => [row.created_at, row.id]);
  return { data: data.map(toVersion), next_cursor };
}

/** Returns one version. Throws 404 `version_not_found`. */
async function getVersion(db: Queryable, actor: Actor, id: string): Promise<Version> {
  const row = isId(id) ? await queries.findVersion(db, id, actor.tenants) : undefined;
  if (row === undefined) throw notFound();
  return toVersion(row);
}

/** Deletes a version and writes that to the audit log. Throws 404 `version_not_found`. */
async function deleteVersion(db: Database, act: VersionAct, id: string): Promise<void> {
  const { actor, request, audit } = act;
  await db.transaction(async (connection) => {
    const row = isId(id) ? await queries.deleteVersion(connection, id, actor.tenants) : undefined;
    if (row === undefined) throw notFound();
    const { tenant, name, dataset, count, bytes, digest } = toVersion(row);
    const before = { name, dataset, count, bytes, digest };
    await audit(connection, {
      actor,
      request,
      action: 'version.delete',
      target: id,
      tenant,
      before,
    });
  });
}

function isId(text: string): boolean {
  return /^\w{1,100}$/.test(text);
}

function notFound(): AppError {
  return new AppError('version_not_found', {
    detail:
      'There is no dataset version of this id, or no longer. GET /enrichment/dataset-versions lists them.',
  });
}
