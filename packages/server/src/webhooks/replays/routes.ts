import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { changeJob } from '../paced-jobs.ts';
import { createReplay, previewReplay } from './ask-replay.ts';
import { getReplay, replayKind } from './replays.ts';

export function addReplayRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  http.route(webhooksContract.replayEndpoint, async (call) => {
    // There are two answers: unless another is set, the status is the contract's for a preview.
    if (call.body.dry_run === true) return previewReplay(db, options, call);
    const job = await createReplay(db, options, call);
    options.replays.poke();
    call.reply.status(202);
    return job;
  });
  http.route(webhooksContract.getReplay, ({ params, actor }) => getReplay(db, actor, params.id));
  http.route(webhooksContract.changeReplay, async ({ params, body: change, ...caller }) => {
    const act = { ...caller, audit: options.audit };
    const job = await changeJob(db, act, replayKind, { id: params.id, change });
    options.replays.poke();
    return job;
  });
}
