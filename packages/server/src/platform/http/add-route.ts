import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type Actor,
  callerOf,
  requireConfirmation,
  requireScope,
  requireWholeTenants,
  withinStore,
  withShownNames,
} from '../../kernel/actor.ts';
import type { SharedBudget } from '../../kernel/gate.ts';
import { basePath } from '../../kernel/values.ts';
import { isJson, isStreamed } from './body.ts';
import type { Connections } from './connections.ts';
import type { InputOf, RouteContract } from './contract.ts';
import { overloaded, refuseLargeBody, takePlace } from './refusals.ts';
import { type Check, parseQuery, type Validator } from './validate.ts';

/** A caller without a token may send only this much, because there may be many such callers. */
const openBodyMaxBytes = 4096;

/**
 * Answers calls of a route. The input has been validated and the caller is allowed to make the call. On a route that is
 * open to everybody, `actor` has no scopes and reaches no tenants. Work that lasts calls `recheck` now and then: it throws
 * 401 once the token was revoked or has expired, or the session has ended.
 */
export type Handler<C extends RouteContract> = (
  call: InputOf<C> & {
    actor: Actor;
    request: FastifyRequest;
    reply: FastifyReply;
    recheck: () => Promise<Actor>;
  },
) => Promise<unknown>;

/** Who may call, and when. */
export type RouteOptions = {
  /** Finds the caller, or throws 401. With `mayBeKnown` its token need not be looked up, if it has a `check` instead. */
  authenticate(request: FastifyRequest, mayBeKnown?: boolean): Promise<Actor>;
  /** Throws 429 when the token's share of requests is used up, and says in the answer's headers what is left. */
  admit(actor: Actor, answer: ServerResponse): Promise<void>;
  /** Does work in the name of its caller (the address, while that is unknown), so that callers take turns. */
  takeTurns?: <T>(caller: string, work: () => T) => T;
  /** Throws 503 while the service is not ready. */
  assertReady(): void;
};

type RouteParts = RouteOptions & {
  readonly load: SharedBudget;
  readonly validator: Validator;
  readonly connections: Connections;
};

/** What is known of a request before its handler is called. */
type Known = {
  readonly actor: Actor;
  /** Whether its body was still coming when its caller was found. */
  readonly isUnread: boolean;
  readonly query: Record<string, unknown>;
};

/** Has a route checked and served as its contract says. */
export function addRoute<C extends RouteContract>(
  fastify: FastifyInstance,
  contract: C,
  handler: Handler<C>,
  { validator, connections, ...options }: RouteParts,
): void {
  const check = (schema: RouteContract['query'], place: '?' | '/'): Check =>
    schema === undefined ? () => {} : validator.check(schema, place);
  const checkQuery = check(contract.query ?? emptyObject, '?');
  // A route without a body accepts an empty object, because many clients send {} along.
  const checkBody = check(contract.body ?? emptyObject, '/');
  const streams = (request: FastifyRequest) => isStreamed(contract, request);
  const status = Number(Object.keys(contract.responses)[0] ?? 200);
  const known = new WeakMap<FastifyRequest, Known>();
  const knownOf = (request: FastifyRequest) => known.get(request) ?? nothingKnown;
  const { takeTurns = (_caller, work) => work() } = options;
  const find = (request: FastifyRequest, mayBeKnown = false) =>
    takeTurns(`address ${request.ip}`, () => options.authenticate(request, mayBeKnown));
  const requireOwnScope = (actor: Actor) => requireAllowed(actor, contract);
  /** Looks a token up that no statement has checked. Throws 401 as if that had been done at first. */
  const lookUpUnchecked = async (request: FastifyRequest) => {
    if (knownOf(request).actor.check?.isMade === false) await find(request);
  };
  const tellChecked = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const tell = (told: unknown) => void reply.send(told);
    lookUpUnchecked(request).then(() => tell(error), tell);
  };
  const findAgain = async (request: FastifyRequest) => {
    known.set(request, { ...knownOf(request), actor: await find(request) });
  };

  fastify.route({
    method: contract.method,
    url: basePath + contract.path,
    exposeHeadRoute: contract.method === 'GET',
    ...(contract.scope === null && { bodyLimit: openBodyMaxBytes }),
    ...(contract.checksToken && { errorHandler: tellChecked }),
    // The checks run in the order that the contract promises: 401, 429, 403, then the input, then the rest.
    onRequest: async (request, reply) => {
      options.assertReady();
      let { actor, isUnread } = nothingKnown;
      if (contract.scope !== null) {
        // Before the token is looked up: whoever comes to a process that has too much to do costs it next to nothing.
        if (options.load.isFull()) throw overloaded();
        actor = await find(request, contract.checksToken === true && isJson(request));
        known.set(request, { ...nothingKnown, actor });
        takePlace(options.load, actor, reply.raw);
        // The share is checked before anything else, because a refused request costs as much as one that is served.
        await options.admit(actor, reply.raw);
        requireOwnScope(actor);
        if (contract.stepUp === true) requireConfirmation(actor);
        isUnread = actor.check === undefined && !request.raw.complete && !streams(request);
        connections.admit(request.raw, { ownPace: streams(request) });
      }
      const query = parseQuery(searchOf(request.url), contract.query);
      checkQuery(query);
      known.set(request, { actor, isUnread, query });
      // Fastify would refuse it as well, but close the connection, and a client that still sends is reset before it has
      // read why.
      if (!streams(request)) refuseLargeBody(request);
    },
    preHandler: [
      (request, _reply, done) => {
        // A body may take minutes, and the token may be revoked meanwhile.
        if (knownOf(request).isUnread) return findAgain(request);
        done();
        return undefined;
      },
      (request, _reply, done) => {
        if (asksInBody(contract, request.body)) requireConfirmation(knownOf(request).actor);
        if (request.body === undefined) request.body = {};
        if (!streams(request)) checkBody(request.body);
        if (contract.stores === 'named')
          known.set(request, ofStore(knownOf(request), request.body));
        connections.admit(request.raw);
        done();
      },
    ],
    handler: async (request, reply) => {
      reply.status(status);
      const { actor, query } = knownOf(request);
      const input = { params: request.params, query, body: request.body } as InputOf<C>;
      const recheck = async () => {
        const found = requireOwnScope(await options.authenticate(request));
        if (actor.check !== undefined) actor.check.isMade = true;
        return found;
      };
      const caller = contract.scope === null ? `address ${request.ip}` : callerOf(actor);
      const answer = takeTurns(caller, async () => {
        const made = await handler({ ...input, actor, request, reply, recheck });
        await lookUpUnchecked(request);
        return withShownNames(actor, made);
      });
      // Nothing is what fastify would wait for.
      return status === 204 ? answer.then(() => (reply.sent ? reply : reply.send())) : answer;
    },
  });
}

/** Throws 403 to whoever may not call the route, whatever they ask for. */
function requireAllowed(actor: Actor, { scope, stores }: RouteContract): Actor {
  if (scope !== 'any' && scope !== null) requireScope(actor, scope);
  if (stores === undefined) requireWholeTenants(actor);
  return actor;
}

/** The request, with what its caller reaches of the store that it names. */
function ofStore(known: Known, body: unknown): Known {
  return { ...known, actor: withinStore(known.actor, { ...known.query, ...Object(body) }) };
}

/** Looks at a body that is not checked yet, because 403 must come before 400. */
function asksInBody({ stepUp }: RouteContract, body: unknown): boolean {
  if (typeof stepUp !== 'object') return false;
  const read = (field: string): unknown =>
    Object.getOwnPropertyDescriptor(Object(body), field)?.value;
  if ('unless' in stepUp) return read(stepUp.unless) !== true;
  return stepUp.when.some((field) => read(field) !== undefined && read(field) !== false);
}

/** Everything after the first question mark. */
function searchOf(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

const emptyObject = { type: 'object', properties: {}, additionalProperties: false };

const anyone: Actor = { tokenId: '', name: 'anyone', scopes: [], tenants: [], expiresAt: null };
const nothingKnown: Known = { actor: anyone, isUnread: false, query: {} };
