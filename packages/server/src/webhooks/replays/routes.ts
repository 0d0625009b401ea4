import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../kernel/actor.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { Act } from '../dead-letters/retry.ts';
import type { WebhookOptions } from '../options.ts';
import { createReplay, previewReplay } from './ask-replay.ts';
import { changeReplay, getReplay } from './replays.ts';

export function addReplayRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  const act = ({ actor, request }: { actor: Actor; request: FastifyRequest }): Act => ({
    actor,
    note: (connection, entry) => options.audit(connection, { actor, request, ...entry }),
  });
  http.route(webhooksContract.replayEndpoint, async (call) => {
    // There are two answers: unless another is set, the status is the contract's for a preview.
    if (call.body.dry_run === true) return previewReplay(db, options, call);
    const job = await createReplay(db, options, call);
    options.replays.poke();
    call.reply.status(202);
    return job;
  });
  http.route(webhooksContract.getReplay, ({ params, actor }) => getReplay(db, actor, params.id));
  http.route(webhooksContract.changeReplay, async (call) => {
    const job = await changeReplay(db, act(call), call.params.id, call.body);
    options.replays.poke();
    return job;
  });
}
