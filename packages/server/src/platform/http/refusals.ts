import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, callerOf } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import type { SharedBudget } from '../../kernel/gate.ts';
import { basePath } from '../../kernel/values.ts';
import { bodyTooLarge } from './problem.ts';

/** Takes a place among the requests that are worked on, until the answer is sent or the client has hung up. */
export function takePlace(load: SharedBudget, actor: Actor, answer: ServerResponse): void {
  if (answer.destroyed) return;
  const own = load.of(callerOf(actor));
  if (own.take(1)) {
    answer.once('close', () => own.give(1));
    return;
  }
  if (load.isFull()) throw overloaded();
  throw new AppError('requests_busy', {
    detail:
      'This token, or those that are limited to the same tenants, have as many requests under way as one caller may have. Await some answers first.',
    retryAfterSeconds: 1,
  });
}

export function overloaded(): AppError {
  return new AppError('overloaded', {
    detail: 'This process works on as many requests as it can. Try again in a second.',
    retryAfterSeconds: 1,
  });
}

/** Refuses two Host headers (RFC 9112, 3.2): Node takes the first, a proxy before us may have taken the other. */
export function refuseTwoHosts({ rawHeaders }: IncomingMessage): void {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  if (hosts.length <= 1) return;
  throw new AppError('http_invalid', { detail: 'The request has more than one Host header.' });
}

export function refuseLargeBody({ headers, routeOptions }: FastifyRequest): void {
  if (Number(headers['content-length']) > routeOptions.bodyLimit)
    throw bodyTooLarge(routeOptions.bodyLimit);
}

export function refuseUnknownExpectation(expect: string | undefined): void {
  if (expect === undefined || /^100-continue$/i.test(expect)) return;
  throw new AppError('expectation_unknown', {
    detail: 'Only Expect: 100-continue is known here. Leave the header out.',
  });
}

/**
 * Notes the routes of a server. What it returns says what is wrong with a request that none of them takes: 405 with the
 * header Allow where its path has other methods (RFC 9110, 15.5.6), and 404 where there is no such path.
 */
export function knowRoutes(
  fastify: FastifyInstance,
): (request: FastifyRequest, reply: FastifyReply) => AppError {
  const routes: { methods: readonly string[]; path: RegExp }[] = [];
  fastify.addHook('onRoute', ({ method, url }) => {
    const pattern = url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+');
    routes.push({ methods: [method].flat(), path: new RegExp(`^${pattern}$`) });
  });
  return ({ method, url }, reply) => {
    const path = url.split('?')[0] ?? '';
    const methods = routes.flatMap((route) => (route.path.test(path) ? route.methods : []));
    if (methods.length === 0) {
      const meant = basePath + path;
      const isBelow = routes.some((route) => route.path.test(meant));
      const hint = isBelow ? `Did you mean ${meant}?` : 'See /docs.';
      return new AppError('route_not_found', { detail: `There is no ${method} ${path}. ${hint}` });
    }
    const allowed = [...new Set(methods)].sort().join(', ');
    reply.header('allow', allowed);
    return new AppError('method_not_allowed', {
      detail: `There is no ${method} ${path}, only ${allowed}. See /docs.`,
    });
  };
}
