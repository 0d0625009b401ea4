import type { FastifyReply } from 'fastify';
import { mayTouchTenant, requireScope } from '../../kernel/actor.ts';
import { type Act, type Caller, noteAct } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { cancelled, changeJob } from '../paced-jobs.ts';
import type { BulkAction } from '../values.ts';
import {
  type BulkRequest,
  bulkKind,
  createBulkJob,
  getBulkJob,
  listBulkJobs,
  previewBulk,
} from './bulk-jobs.ts';
import { getDeadLetter, listDeadLetterGroups, listDeadLetters, listDeliveries } from './lists.ts';
import { purgeDeadLetter, retryDeadLetter } from './retry.ts';

export function addDeadLetterRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  const act = ({ actor, request }: Caller): Act => ({ actor, request, audit: options.audit });
  http.route(webhooksContract.listDeliveries, ({ query, actor }) =>
    listDeliveries(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.listDeadLetters, ({ query, actor }) =>
    listDeadLetters(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.listDeadLetterGroups, ({ query, actor }) =>
    listDeadLetterGroups(db, actor, query),
  );
  http.route(webhooksContract.getDeadLetter, ({ params, actor }) =>
    getDeadLetter(db, actor, params.id),
  );
  http.route(webhooksContract.retryDeadLetter, (call) => {
    const { wakeUp, maxAttempts } = options;
    return retryDeadLetter(db, call.params.id, { act: act(call), wakeUp, maxAttempts });
  });
  http.route(webhooksContract.purgeDeadLetter, async (call) => {
    await purgeDeadLetter(db, call.params.id, { ...options, act: act(call) });
    return call.reply.send();
  });
  const doAll = async (
    action: BulkAction,
    call: Caller & { body?: BulkRequest; reply: FastifyReply },
  ) => {
    const asked = { request: call.body ?? {}, options };
    // There are two answers: unless another is set, the status is the contract's for a preview.
    if (asked.request.dry_run === true) return previewBulk(db, call.actor, action, asked);
    const job = await db.transaction(async (connection) => {
      const made = await createBulkJob(connection, call.actor, action, asked);
      const entry = { action: `${action}_job.create`, target: made.id, tenant: made.tenant };
      await noteAct(connection, act(call), { ...entry, after: made });
      return made;
    });
    options.jobs.poke();
    call.reply.status(202);
    return job;
  };
  const { retryDeadLetters, purgeDeadLetters } = webhooksContract;
  http.route(retryDeadLetters, (call) => doAll('retry', call));
  http.route(purgeDeadLetters, async (call) => {
    const { tenant } = call.body ?? {};
    if (tenant !== undefined && mayTouchTenant(call.actor, tenant)) {
      await options.refuseHold(db, tenant);
    }
    return doAll('purge', call);
  });
  // The routes of retries are older than those of all bulk jobs, and say as they did that there is none.
  const { listRetryJobs, getRetryJob, changeRetryJob, cancelRetryJob } = webhooksContract;
  const { listBulkJobs: list, getBulkJob: get } = webhooksContract;
  const { changeBulkJob: change, cancelBulkJob: cancel } = webhooksContract;
  http.route(listRetryJobs, ({ query, actor }) =>
    listBulkJobs(db, options.cursorKey(), { actor, of: 'retry' }, query),
  );
  http.route(list, ({ query: { action, ...query }, actor }) =>
    listBulkJobs(db, options.cursorKey(), { actor, of: action ?? 'any' }, query),
  );
  for (const { of, ...routes } of [
    { of: 'retry', get: getRetryJob, change: changeRetryJob, cancel: cancelRetryJob },
    { of: 'any', get, change, cancel },
  ] as const) {
    http.route(routes.get, ({ params, actor }) => getBulkJob(db, actor, of, params.id));
    http.route(routes.change, async (call) => {
      const { actor, params, body: change } = call;
      // Who discards nothing may stop a purge, but neither resume nor hasten it.
      const isStop = change.state === 'paused' && change.rate === undefined;
      if (!isStop && (await getBulkJob(db, actor, of, params.id)).action === 'purge') {
        requireScope(actor, 'admin');
      }
      const job = await changeJob(db, act(call), bulkKind(of), { id: params.id, change });
      options.jobs.poke();
      return job;
    });
    http.route(routes.cancel, async (call) => {
      await changeJob(db, act(call), bulkKind(of), { id: call.params.id, change: cancelled });
      return call.reply.send();
    });
  }
}
