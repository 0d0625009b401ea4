import type { FastifyRequest } from 'fastify';
import { type Actor, assertReach } from '../../kernel/actor.ts';
import { newId } from '../../kernel/ids.ts';
import type { Audit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { RunRow } from '../contract.ts';
import * as queries from './queries.ts';

export type RunRequest = { tenant?: string; before?: string; delete_versioned?: boolean };

/** Queues a run over the tenants that the caller reaches. Throws 400 `request_invalid` for a tenant out of reach. */
export async function requestRun(
  db: Database,
  act: { actor: Actor; request: FastifyRequest; audit: Audit },
  wanted: RunRequest,
): Promise<RunRow> {
  const { actor, request, audit } = act;
  const { tenant = null, before = null, delete_versioned: deleteVersioned = false } = wanted;
  if (tenant !== null) assertReach(actor, tenant);
  return db.transaction(async (connection) => {
    const run = await queries.insertRun(connection, {
      id: newId('run'),
      tenant,
      tenants: actor.tenants,
      before,
      deleteVersioned,
      requestedBy: actor.name,
    });
    if (run === undefined) throw new Error('a run vanished while it was written');
    await audit(connection, {
      actor,
      request,
      action: 'retention.run',
      target: run.id,
      tenant,
      after: { tenant, before, delete_versioned: deleteVersioned },
    });
    return run;
  });
}
