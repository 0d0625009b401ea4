import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { retentionContract } from '../contract.ts';
import type { RetentionOptions } from '../options.ts';
import { createVerification, getVerification, listVerifications } from './verifications.ts';

export type VerifyRouteOptions = Pick<RetentionOptions, 'cursorKey' | 'audit' | 'poke'>;

export function addVerifyRoutes(http: HttpServer, db: Database, options: VerifyRouteOptions): void {
  http.route(retentionContract.startVerification, async ({ body, actor, request }) => {
    const { audit } = options;
    const wanted: { tenant?: string } = body ?? {};
    const made = await createVerification(db, wanted.tenant, { actor, request, audit });
    options.poke();
    return made;
  });
  http.route(retentionContract.listVerifications, ({ query, actor }) =>
    listVerifications(db, options.cursorKey(), actor, query),
  );
  http.route(retentionContract.getVerification, ({ params, actor }) =>
    getVerification(db, actor, params.id),
  );
}
