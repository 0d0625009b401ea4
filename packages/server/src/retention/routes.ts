import type { HttpServer } from '../platform/http/server.ts';
import { readJob, readJobs } from '../platform/jobs/read-jobs.ts';
import { refuseReadOnly } from '../platform/objects/fence.ts';
import type { Database } from '../platform/postgres/database.ts';
import { type RunRow, retentionContract } from './contract.ts';
import { getErasure } from './mover/erase-records.ts';
import { listOrphans, listSegments, removeOrphans } from './objects.ts';
import { getPlan } from './policies/plan.ts';
import {
  deletePolicy,
  foreseePolicy,
  getPolicy,
  listPolicies,
  listTenantStates,
  putPolicy,
} from './policies/policies.ts';
import { getMove, listMoves } from './runs/moves.ts';
import { runs } from './runs/queries.ts';
import { requestRun } from './runs/runs.ts';
import {
  adoptStore,
  foreseeAdoption,
  getStore,
  getStoreCounted,
  type RetentionOptions,
  toStoreSummary,
} from './store.ts';

export function addRetentionRoutes(
  http: HttpServer,
  db: Database,
  options: RetentionOptions,
): void {
  addPolicyRoutes(http, db, options);
  addRunRoutes(http, db, options);
  http.route(retentionContract.listTenantStates, ({ query, actor }) =>
    listTenantStates(db, options.cursorKey(), actor, query),
  );
  http.route(retentionContract.listMoves, ({ query, actor }) =>
    listMoves(db, actor, query, { cursorKey: options.cursorKey() }),
  );
  http.route(retentionContract.listSegments, ({ query, actor }) =>
    listSegments(db, options.cursorKey(), actor, query),
  );
  http.route(retentionContract.getMove, ({ params, actor }) => getMove(db, actor, params.id));
  http.route(retentionContract.getErasure, ({ params, actor }) => getErasure(db, actor, params.id));
}

function addPolicyRoutes(http: HttpServer, db: Database, options: RetentionOptions): void {
  const { audit } = options;
  http.route(retentionContract.listPolicies, ({ query, actor }) =>
    listPolicies(db, options.cursorKey(), actor, query),
  );
  http.route(retentionContract.getPolicy, ({ params, actor }) =>
    getPolicy(db, actor, params.tenant),
  );
  http.route(
    retentionContract.putPolicy,
    ({ params, body, actor, request }) =>
      putPolicy(db, { actor, request, audit }, params.tenant, body),
    ({ params, body }) => foreseePolicy(db, params.tenant, body, body.if_updated_at),
  );
  http.route(
    retentionContract.deletePolicy,
    // A call that somebody else has approved has no query.
    ({ params, query, actor, request }) =>
      deletePolicy(db, { actor, request, audit }, params.tenant, query?.if_updated_at),
    ({ params, query }) => foreseePolicy(db, params.tenant, null, query?.if_updated_at),
  );
}

function addRunRoutes(http: HttpServer, db: Database, options: RetentionOptions): void {
  const { audit } = options;
  http.route(retentionContract.getPlan, async ({ query, actor }) => ({
    ...(await getPlan(db, options.cursorKey(), actor, query)),
    store: toStoreSummary(options.store.watch.state()),
  }));
  http.route(retentionContract.getStore, ({ query, actor }) =>
    query.include === 'missing'
      ? getStoreCounted(db, options.store, actor)
      : getStore(options.store, actor),
  );
  http.route(retentionContract.listOrphans, ({ actor }) => listOrphans(db, options, actor));
  http.route(retentionContract.removeOrphans, ({ body, actor, request }) =>
    removeOrphans(db, options, { actor, request, keys: body.object_keys }),
  );
  http.route(
    retentionContract.adoptStore,
    ({ actor, request }) => adoptStore(db, options.store, { actor, request, audit }),
    ({ actor }) => foreseeAdoption(options.store, actor),
  );
  http.route(retentionContract.startRun, async ({ body, actor, request }) => {
    refuseReadOnly(options.store.fence);
    const run = await requestRun(db, { actor, request, audit }, body ?? {});
    options.poke();
    return run;
  });
  http.route(retentionContract.listRuns, ({ query, actor }) =>
    readJobs<RunRow>(db, runs, actor, { cursorKey: options.cursorKey(), ...query }),
  );
  http.route(retentionContract.getRun, ({ params, actor }) =>
    readJob<RunRow>(db, runs, actor, params.id),
  );
}
