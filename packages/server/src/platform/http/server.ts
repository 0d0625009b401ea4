import { type IncomingMessage, maxHeaderSize } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { type Actor, requireConfirmation, requireScope } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { randomText } from '../../kernel/ids.ts';
import type { Log } from '../log.ts';
import { compressAnswer } from './compress-answer.ts';
import {
  type ConnectionLimits,
  type Connections,
  guardConnections,
  usualLimits,
} from './connections.ts';
import type { InputOf, RouteContract } from './contract.ts';
import { refuseConnection, refuseUnreadable, sendProblem } from './problem.ts';
import { type Check, parseJson, parseQuery, Validator } from './validate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** A JSON body as it was sent: JSON.parse bends large integers and the spelling of numbers. */
    jsonText: string;
  }
}

export const basePath = '/api/v1';
/** Whoever has no token may send this much, and there may be many of them. */
const openBodyMaxBytes = 4096;

export type Handler<C extends RouteContract> = (
  call: InputOf<C> & { actor: Actor; request: FastifyRequest; reply: FastifyReply },
) => Promise<unknown>;

export type HttpServer = {
  readonly fastify: FastifyInstance;
  readonly contracts: readonly RouteContract[];
  /** Serves a route of the API. What the handler returns is the JSON answer, with the first 2xx status. */
  route<C extends RouteContract>(contract: C, handler: Handler<C>): void;
  /** Resets the connections of all requests that are under way. */
  cutConnections(): void;
};

export type HttpOptions = {
  log: Log;
  /** Throws 401 unless the request carries a valid token or session. */
  authenticate(request: FastifyRequest): Promise<Actor>;
  /** Throws 429 when the token has used up its share. */
  admit(actor: Actor): void;
  /** JSON bodies other than ingest's, at most; of calls that need no token 4 KiB. */
  jsonBodyMaxBytes: number;
  connections?: ConnectionLimits;
  /** Whether an address is a proxy’s whose X-Forwarded-For and -Proto count. */
  isTrusted?: (address: string) => boolean;
  /** Whether browsers reach it by https alone. */
  isSecure?: boolean;
  /** Throws 503 while the service is not ready. */
  assertReady(): void;
};

/** A fastify server whose every answer carries `x-request-id` and whose every error is a problem document. */
export function createHttpServer(options: HttpOptions): HttpServer {
  const fastify = Fastify({
    // Its own word on listening is not needed: the app says when it is ready.
    loggerInstance: quiet(options.log),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.jsonBodyMaxBytes,
    trustProxy: options.isTrusted ?? false,
    genReqId: () => `req_${randomText(16)}`,
    forceCloseConnections: false,
    // An upload may take hours. The header must not, and an idle socket is closed; bodies: connections.ts.
    requestTimeout: 0,
    keepAliveTimeout: 72_000,
    // While it closes, what still comes in on an open connection is answered like anything else.
    return503OnClosing: false,
    frameworkErrors(error, request, reply) {
      // It has passed no hook.
      setCommonHeaders(request, reply);
      sendProblem(error, request, reply);
    },
    clientErrorHandler: refuseUnreadable,
    http: { maxHeaderSize, headersTimeout: 15_000, connectionsCheckingInterval: 2_000 },
    routerOptions: { querystringParser: () => ({}), maxParamLength: 1000 },
  });
  const contracts: RouteContract[] = [];

  const { server } = fastify;
  const connections = guardConnections(server, options.connections ?? usualLimits);
  // Without listeners Node says 100 before anything is checked, 417 without a body, and nothing at all.
  server.on('checkContinue', (...exchange) => server.emit('request', ...exchange));
  server.on('checkExpectation', (...exchange) => server.emit('request', ...exchange));
  server.on('connect', (_request, socket: Socket) =>
    refuseConnection(socket, { code: 'route_not_found', detail: 'This is no proxy. See /docs.' }),
  );
  fastify.addHook('preClose', async () => connections.drain());
  fastify.addHook('onRequest', async (request, reply) => {
    // Cut since it was read, as one of very many that came at once.
    if (request.raw.socket.destroyed) return reply.hijack();
    setCommonHeaders(request, reply);
    if (options.isSecure) reply.raw.setHeader('strict-transport-security', 'max-age=31536000');
    refuseTwoHosts(request.raw);
    refuseUnknownExpectation(request.headers.expect);
    // Before the body of a path that is not there is read, by whoever sends it.
    if (request.is404) {
      throw new AppError('route_not_found', {
        detail: `There is no ${request.method} ${request.url.split('?')[0]}. See /docs.`,
      });
    }
  });
  // Only who may send its body is told to go on; who is refused has no need to send it.
  fastify.addHook('preParsing', async ({ headers, raw }, reply) => {
    if (headers.expect !== undefined && !raw.complete) reply.raw.writeContinue();
  });
  fastify.addHook('onSend', async ({ headers, raw }, reply) => {
    // Whether its body comes all the same cannot be told from a next request.
    if (headers.expect !== undefined && !raw.complete) reply.header('connection', 'close');
  });
  fastify.addHook('onSend', compressAnswer);
  fastify.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  fastify.decorateRequest('jsonText', '');
  // A call with an empty body and a JSON content type (a DELETE of many clients) is not an error.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      if (body.length === 0) return undefined;
      const { text, value } = parseJson(body);
      request.jsonText = text;
      return value;
    },
  );

  const parts = { ...options, validator: new Validator(), connections };
  return {
    fastify,
    contracts,
    cutConnections: () => connections.cut(),
    route(contract, handler) {
      contracts.push(contract);
      if (!('streamedBody' in contract)) addRoute(fastify, contract, handler, parts);
      // The handler reads the body itself, whatever its type.
      else
        fastify.register(async (own) => {
          own.removeAllContentTypeParsers();
          own.addContentTypeParser('*', (_request, _body, done) => done(null));
          addRoute(own, contract, handler, parts);
        });
    },
  };
}

function quiet(log: Log): FastifyBaseLogger {
  return log.isLevelEnabled('debug') ? log : log.child({}, { level: 'warn' });
}

type RouteParts = Omit<HttpOptions, 'connections'> & {
  readonly validator: Validator;
  readonly connections: Connections;
};

function addRoute<C extends RouteContract>(
  fastify: FastifyInstance,
  contract: C,
  handler: Handler<C>,
  { validator, connections, ...options }: RouteParts,
): void {
  const check = (schema: RouteContract['query'], place: '?' | '/'): Check =>
    schema === undefined ? () => {} : validator.compile(schema, place);
  const checkQuery = check(contract.query ?? emptyObject, '?');
  // A route without a body takes an empty one: many clients send {} along.
  const checkBody =
    'streamedBody' in contract ? () => {} : check(contract.body ?? emptyObject, '/');
  const status = Number(Object.keys(contract.responses)[0] ?? 200);
  const actors = new WeakMap<FastifyRequest, Actor>();
  const queries = new WeakMap<FastifyRequest, Record<string, unknown>>();

  fastify.route({
    method: contract.method,
    url: basePath + contract.path,
    exposeHeadRoute: contract.method === 'GET',
    ...(contract.scope === null && { bodyLimit: openBodyMaxBytes }),
    // In the order the contract promises: 401, 429, 403, then the input, then the rest.
    onRequest: async (request) => {
      options.assertReady();
      if (contract.scope !== null) {
        const actor = await options.authenticate(request);
        // Before anything else is looked at: what is refused costs as much as what is done.
        options.admit(actor);
        if (contract.scope !== 'any') requireScope(actor, contract.scope);
        if (contract.stepUp === true) requireConfirmation(actor);
        actors.set(request, actor);
        connections.admit(request.raw, { ownPace: 'streamedBody' in contract });
      }
      const query = parseQuery(searchOf(request.url), contract.query);
      checkQuery(query);
      queries.set(request, query);
    },
    preHandler: async (request) => {
      const actor = actors.get(request);
      if (actor !== undefined && asksInBody(contract, request.body)) requireConfirmation(actor);
      if (request.body === undefined) request.body = {};
      checkBody(request.body);
      connections.admit(request.raw);
    },
    handler: async (request, reply) => {
      reply.status(status);
      const input = {
        params: request.params,
        query: queries.get(request),
        body: request.body,
      } as InputOf<C>;
      return handler({ ...input, actor: actors.get(request) ?? anyone, request, reply });
    },
  });
}

/** Looks at a body that is not checked yet: 403 comes before 400. */
function asksInBody({ stepUp }: RouteContract, body: unknown): boolean {
  if (typeof stepUp !== 'object' || typeof body !== 'object' || body === null) return false;
  const value: unknown = Object.getOwnPropertyDescriptor(body, stepUp.when)?.value;
  return value !== undefined && value !== false;
}

/** On the raw answer: exports and downloads write to that. What is made for others says so itself. */
function setCommonHeaders(request: FastifyRequest, { raw }: FastifyReply): void {
  raw.setHeader('x-request-id', request.id);
  raw.setHeader('x-content-type-options', 'nosniff');
  raw.setHeader('cache-control', 'no-store');
}

/** RFC 9112, 3.2: Node takes the first, and a proxy before us may have taken the other. */
function refuseTwoHosts({ rawHeaders }: IncomingMessage): void {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  if (hosts.length <= 1) return;
  throw new AppError('http_invalid', { detail: 'The request has more than one Host header.' });
}

function refuseUnknownExpectation(expect: string | undefined): void {
  if (expect === undefined || /^100-continue$/i.test(expect)) return;
  throw new AppError('expectation_unknown', {
    detail: 'Only Expect: 100-continue is known here. Leave the header out.',
  });
}

/** All behind the first question mark. */
function searchOf(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

const emptyObject = { type: 'object', properties: {}, additionalProperties: false };

const anyone: Actor = { tokenId: '', name: 'anyone', scopes: [], tenants: [], expiresAt: null };
