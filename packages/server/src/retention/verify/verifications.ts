import { setTimeout } from 'node:timers/promises';
import { newId } from '../../kernel/ids.ts';
import { type Act, type Audit, noteAct } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import { findJob } from '../../platform/jobs/queries.ts';
import { readJob, readJobs } from '../../platform/jobs/read-jobs.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { retentionContract } from '../contract.ts';
import type { VerificationRow } from '../schemas.contract.ts';
import type { VerifyTools } from './check-segments.ts';
import * as queries from './queries.ts';
import { runOpenVerifications } from './run-verifications.ts';

const table = queries.withProblems;

type VerifyRequest = { tenant?: string; since?: string; sample_percent?: number };

/** Queues a verification of a tenant, or of all tenants that the caller may touch. */
async function createVerification(
  db: Database,
  { tenant, since, sample_percent }: VerifyRequest,
  act: Act,
): Promise<VerificationRow> {
  return db.transaction(async (connection) => {
    const made = await queries.insertVerification(connection, {
      id: newId('vrf'),
      tenant: tenant ?? null,
      tenants: act.actor.tenants,
      since: since === undefined ? null : `${since}T00:00:00Z`,
      sample_percent: sample_percent ?? null,
      requestedBy: act.actor.name,
    });
    const { id: target, tenant: whose } = made;
    await noteAct(connection, act, { action: 'retention.verify', target, tenant: whose });
    return made;
  });
}

/** Asks for a verification of everything, and does it in this process, as far as no other does. Returns what was found. */
export async function verifyNow(
  tools: VerifyTools,
  { requestedBy, signal }: { requestedBy: string; signal: AbortSignal },
): Promise<VerificationRow> {
  const { db } = tools;
  const scope = { tenant: null, tenants: null, since: null, sample_percent: null };
  const made = await queries.insertVerification(db, { id: newId('vrf'), ...scope, requestedBy });
  for (;;) {
    await runOpenVerifications(tools, signal);
    const found = await findJob<VerificationRow>(db, table, { id: made.id, reach: null });
    if (found === undefined) throw new Error('the verification is gone');
    if (found.finished_at !== null) return found;
    await setTimeout(othersMillis, undefined, { signal });
  }
}

/** How long to wait for another process that has the last share. */
const othersMillis = 200;

/** Queues a verification of all that was not found right for so many days, unless such a one is under way. */
export function scheduleVerification(db: Queryable, days: number): Promise<void> {
  return queries.insertScheduledVerification(db, { id: newId('vrf'), days });
}

type VerifyRouteOptions = {
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  /** Tells the runner of this process, if it has that role, that a verification was queued. */
  poke(): void;
};

export function addVerifyRoutes(http: HttpServer, db: Database, options: VerifyRouteOptions): void {
  http.route(retentionContract.startVerification, async ({ body, actor, request }) => {
    const { audit } = options;
    const made = await createVerification(db, body ?? {}, { actor, request, audit });
    options.poke();
    return made;
  });
  http.route(retentionContract.listVerifications, ({ query, actor }) =>
    readJobs<VerificationRow>(db, table, actor, { cursorKey: options.cursorKey(), ...query }),
  );
  http.route(retentionContract.getVerification, ({ params, actor }) =>
    readJob<VerificationRow>(db, table, actor, params.id),
  );
}
