import type { Audit } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { versionsContract } from '../versions.contract.ts';
import { createVersion } from './create-version.ts';
import { deleteVersion, getVersion, listVersions } from './versions.ts';

export type VersionOptions = {
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  /** A version is to be counted: has this process look for it now, if it has the role. */
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
