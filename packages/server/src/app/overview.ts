import { checksContract, type Overview } from '../checks/contract.ts';
import { findTroubles, troublesOf } from '../checks/index.ts';
import { type Actor, hasScope } from '../kernel/actor.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { readStored, startSumming } from '../records/index.ts';
import { readWebhooksOverview } from '../webhooks/index.ts';
import type { Host } from './host.ts';
import { lookAround } from './look.ts';

/** Adds the route of the overview, which puts together what each feature knows of itself. */
export function addOverview(http: HttpServer, host: Host): void {
  http.route(checksContract.getOverview, ({ actor }) => readOverview(host, actor));
}

async function readOverview(host: Host, actor: Actor): Promise<Overview> {
  const { db } = host;
  const { tenants } = actor;
  const at = new Date(systemClock()).toISOString();
  const isReader = hasScope(actor, 'enrichment:read');
  const isAdmin = hasScope(actor, 'admin');
  const look = lookAround(db, host, tenants);
  // One after the other, so that a page takes no more than one connection from the others.
  const records = isReader ? await readStored(db, tenants) : null;
  const ofRetention = isReader ? await look.retention() : { retention: null, work: [] };
  const { webhooks, work: retries } = hasScope(actor, 'dlq:operate')
    ? await readWebhooksOverview(db, actor)
    : { webhooks: null, work: [] };
  const isExporter = hasScope(actor, 'analytics:read');
  const exports = isExporter ? await look.exports() : [];
  const counts = isReader ? await look.counts() : [];
  const troubles = await findTroubles({
    ...look,
    retention: async () => ofRetention,
    exports: async () => exports,
    counts: async () => counts,
    ...(isExporter ? {} : { schedules: async () => [] }),
    webhooks: async () => troublesOf(webhooks),
    ...(isReader ? {} : hiddenFromOthers),
    ...(isAdmin ? {} : { waitingApprovals: async () => [], largeExports: async () => [] }),
    // What is of no tenant is known to those who reach all.
    ...(isAdmin && tenants === null ? {} : hiddenFromTenants),
  });
  const { retention, work: moves } = ofRetention;
  const work = [...moves, ...exports, ...counts, ...retries];
  return { at, troubles, records, retention, webhooks, work };
}

/** What callers are not told who may not read records, and those who may not see the service as a whole. */
const hiddenFromOthers = { overdueRemovals: async () => 0, storeProblems: async () => [] };
const hiddenFromTenants = {
  unreached: async () => [],
  fullDisks: async () => [],
  sealFault: () => null,
  failingCopy: async () => undefined,
  overdueBackup: async () => null,
};

/** Sums up what was stored, in every process with the role `api`: those that are asked for it. */
export function createSumming({ settings, log, db }: Host): Work {
  return startLater(settings.roles.includes('api'), () => {
    const summing = startSumming(db, { log });
    summing.poke();
    return summing;
  });
}
