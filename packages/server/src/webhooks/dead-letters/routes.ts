import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../kernel/actor.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { getDeadLetter, listDeadLetterGroups, listDeadLetters, listDeliveries } from './lists.ts';
import { type Act, purgeDeadLetter, retryDeadLetter } from './retry.ts';
import {
  cancelRetryJob,
  changeRetryJob,
  createRetryJob,
  getRetryJob,
  listRetryJobs,
  previewRetry,
  type RetryRequest,
} from './retry-jobs.ts';

export function addDeadLetterRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  const act = ({ actor, request }: { actor: Actor; request: FastifyRequest }): Act => ({
    actor,
    note: (connection, entry) => options.audit(connection, { actor, request, ...entry }),
  });
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
    await purgeDeadLetter(db, call.params.id, act(call));
    return call.reply.send();
  });
  http.route(webhooksContract.retryDeadLetters, async (call) => {
    // There are two answers: unless another is set, the status is the contract's for a preview.
    const wanted: RetryRequest = call.body ?? {};
    if (wanted.dry_run === true) return previewRetry(db, call.actor, wanted);
    const job = await createRetryJob(db, act(call), wanted, options.maxAttempts);
    options.jobs.poke();
    call.reply.status(202);
    return job;
  });
  http.route(webhooksContract.listRetryJobs, ({ query, actor }) =>
    listRetryJobs(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.getRetryJob, ({ params, actor }) =>
    getRetryJob(db, actor, params.id),
  );
  http.route(webhooksContract.changeRetryJob, async (call) => {
    const job = await changeRetryJob(db, act(call), call.params.id, call.body);
    options.jobs.poke();
    return job;
  });
  http.route(webhooksContract.cancelRetryJob, async (call) => {
    await cancelRetryJob(db, act(call), call.params.id);
    return call.reply.send();
  });
}
