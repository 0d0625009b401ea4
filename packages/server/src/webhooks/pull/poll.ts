import { setTimeout as delay } from 'node:timers/promises';
import type { Static } from 'typebox';
import { callerOf } from '../../kernel/actor.ts';
import { decodeCursor, encodeCursor } from '../../kernel/cursor.ts';
import { AppError } from '../../kernel/errors.ts';
import { createSharedBudget } from '../../kernel/gate.ts';
import { type HttpServer, untilGone } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import { shiftCounts } from '../dead-letters/queries.ts';
import { EndpointConfigs, headersOf } from '../drainer/deliver.ts';
import { found, toEndpointId } from '../endpoints/endpoints.ts';
import { countedOut, giveUp } from '../forget.ts';
import type { WebhookOptions } from '../options.ts';
import type { polledSchema } from '../pull.contract.ts';
import { readWallSeconds } from '../queries.ts';
import * as queries from './queries.ts';

type Options = Pick<WebhookOptions, 'cursorKey' | 'secretBox' | 'deliveryDays'>;
type Polled = Static<typeof polledSchema>;

const waiting = { total: 256, each: 32 };
/** How often a poll that waits looks for deliveries, and whether its caller may still poll what is still enabled. */
const [lookMillis, recheckMillis] = [200, 1000];

export function addPullRoutes(http: HttpServer, db: Database, options: Options): void {
  const budget = createSharedBudget(waiting);
  const stopping = new AbortController();
  http.fastify.addHook('preClose', async () => stopping.abort());
  const configs = new EndpointConfigs(db, options.secretBox);
  http.route(webhooksContract.pollDeliveries, async (call) => {
    const { params, query, actor, request, reply, recheck } = call;
    const { after, limit = 100, wait = 0 } = query;
    const id = toEndpointId(params.id);
    const reach = { reach: actor.tenants, days: options.deliveryDays };
    await findPolled(db, id, reach);
    // Only who reads the answer acknowledges anything.
    if (request.method === 'HEAD') return reply.type('application/json').send('');
    const scope = { list: 'poll', filters: { endpoint: id } };
    const position =
      after === undefined ? '0' : (decodeCursor(options.cursorKey(), scope, after).key[0] ?? '0');
    const take = () => takeNext(db, configs, { id, reach, by: actor.name, after: position, limit });
    const own = budget.of(callerOf(actor));
    if (wait > 0 && !own.take(1)) throw pollsBusy();
    try {
      const signal = AbortSignal.any([untilGone(reply), stopping.signal]);
      let { data, last } = await take();
      const until = performance.now() + wait * 1000;
      let recheckAt = performance.now() + recheckMillis;
      while (data.length === 0 && performance.now() < until && !signal.aborted) {
        await delay(lookMillis, undefined, { signal }).catch(() => {});
        if (performance.now() > recheckAt) {
          await recheck();
          await findPolled(db, id, reach);
          recheckAt = performance.now() + recheckMillis;
        }
        if (await queries.hasWaiting(db, id)) ({ data, last } = await take());
      }
      const key = last === undefined ? undefined : [last];
      const cursor = key && encodeCursor(options.cursorKey(), scope, { direction: 'next', key });
      return { data, next_cursor: cursor ?? after ?? null } satisfies Polled;
    } finally {
      if (wait > 0) own.give(1);
    }
  });
}

/** Throws 404 `endpoint_not_found`, 409 `endpoint_not_polled` or `endpoint_disabled`. */
async function findPolled(db: Queryable, id: string, reach: Reached) {
  const endpoint = found(await queries.findPolled(db, id, reach));
  if (!endpoint.is_polled) {
    throw new AppError('endpoint_not_polled', {
      detail:
        'The endpoint has a URL, to which its deliveries are sent. One that is polled is made with the type pull.',
    });
  }
  if (!endpoint.enabled) {
    throw new AppError('endpoint_disabled', {
      detail: 'The endpoint is disabled: what comes for it waits until it is enabled.',
    });
  }
  return endpoint;
}

type Reached = Parameters<typeof queries.findPolled>[2];
type Taking = { id: string; reach: Reached; by: string; after: string; limit: number };

/** Acknowledges what came up to a place and hands out what follows, in one transaction: a lost answer comes again. */
async function takeNext(
  db: Database,
  configs: EndpointConfigs,
  { id, reach, by, after, limit }: Taking,
): Promise<{ data: Polled['data']; last: string | undefined }> {
  const { endpoint, rows } = await db.transaction(async (connection) => {
    await queries.lockPlace(connection, id, by);
    const endpoint = await findPolled(connection, id, reach);
    const done = await queries.acknowledge(connection, id, after);
    const delivered = done.flatMap((row) => countedOut(id, row));
    const late = { ...endpoint.patience, limit: mostGivenUp };
    const givenUp = await giveUp(connection, id, late);
    let rows = await queries.listHandedOut(connection, id, { after, limit });
    const isCut = rows.length < (rows[0]?.numbered ?? 0);
    const bytes = rows.reduce((left, row) => left - Buffer.byteLength(row.body), queries.mostBytes);
    if (rows.length < limit && !isCut && bytes > 0) {
      const takesLarge = rows.length === 0;
      await queries.handOut(connection, id, { limit: limit - rows.length, bytes, takesLarge });
      rows = await queries.listHandedOut(connection, id, { after, limit });
    }
    await shiftCounts(connection, [...delivered, ...givenUp]);
    return { endpoint, rows };
  });
  await configs.load([{ endpoint_id: id, config_version: endpoint.config_version }]);
  const config = found(configs.get(id));
  const time = { nowMillis: performance.now(), wallSeconds: await readWallSeconds(db) };
  const data = rows.map((row) => {
    const headers = headersOf(row, config, time);
    if (typeof headers === 'string') throw new AppError('not_ready', { detail: headers });
    return { id: row.id, headers, body: row.body };
  });
  return { data, last: rows.at(-1)?.position };
}

/** So many deliveries a poll gives up that came too late; the rest goes with the next, or by itself. */
const mostGivenUp = 1000;

function pollsBusy(): AppError {
  return new AppError('polls_busy', {
    detail: `At once wait at most ${waiting.total} polls, and ${waiting.each} of one caller. Poll without wait, or later.`,
    retryAfterSeconds: 1,
  });
}
