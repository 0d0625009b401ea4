import { maxHeaderSize, type Server } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { ErrorCode } from '../../kernel/errors.ts';
import { createSharedBudget } from '../../kernel/gate.ts';
import { randomText } from '../../kernel/ids.ts';
import { basePath, type FourEyesAct } from '../../kernel/values.ts';
import type { Log } from '../log.ts';
import { addRoute, type Handler, type RouteOptions } from './add-route.ts';
import { compressAnswer } from './compress-answer.ts';
import { type ConnectionLimits, guardConnections, usualLimits } from './connections.ts';
import type { RouteContract } from './contract.ts';
import { type Dialect, refuseConnection, refuseUnreadable, sendProblem } from './problem.ts';
import { knowRoutes, refuseTwoHosts, refuseUnknownExpectation } from './refusals.ts';
import { parseJson, Validator } from './validate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it was sent, because JSON.parse changes large integers and the spelling of numbers. */
    jsonText: string;
    /** The request as a part of its trace, a `traceparent` of W3C; null when no traces are written. */
    traceParent: string | null;
  }
}

/** What a call would do, for whoever is to confirm it. */
export type Foreseen = {
  /** Which acts of four eyes it is; none: nobody need confirm it. */
  readonly acts: readonly FourEyesAct[];
  /** Whom it concerns; null: all tenants. */
  readonly tenant: string | null;
  /** In words, without personal data, since they are kept. */
  readonly says: string;
  /** A value for JSON: what must be the same when it is confirmed. */
  readonly about: unknown;
};

/**
 * Says what a call would do, and throws what the call would throw at once. It changes nothing. Once it is to be confirmed,
 * it has no query.
 */
type Foresee<C extends RouteContract> = (
  call: Pick<Parameters<Handler<C>>[0], 'params' | 'body' | 'actor' | 'request'> & {
    query?: Parameters<Handler<C>>[0]['query'];
  },
) => Promise<Foreseen>;

/** A route whose calls somebody else may have to confirm. */
export type GuardedRoute = {
  readonly contract: RouteContract;
  readonly handler: Handler<RouteContract>;
  readonly foresee: Foresee<RouteContract>;
};

export type HttpServer = {
  readonly fastify: FastifyInstance;
  readonly contracts: readonly RouteContract[];
  /**
   * Serves a route of the API. What the handler returns becomes the JSON answer, with the first status of the
   * contract's responses; where that is 204, nothing is. With `foresee` somebody else may have to confirm its calls.
   */
  route<C extends RouteContract>(contract: C, handler: Handler<C>, foresee?: Foresee<C>): void;
  /** The routes with `foresee`, by the ids of their contracts. */
  readonly guarded: ReadonlyMap<string, GuardedRoute>;
  /** Speaks to clients of some paths as they expect it. */
  speak(dialect: Dialect): void;
  /** Has each answer from now on close its connection, so that clients go elsewhere. Requests are still served. */
  leave(): void;
  isLeaving(): boolean;
  /** Resets the connections of all requests that are under way. */
  cutConnections(): void;
};

export type HttpOptions = RouteOptions & {
  log: Log;
  /** How many requests with a token are worked on at once: in all, and of one caller. Any number by default. */
  load?: { readonly total: number; readonly each: number };
  /** The largest JSON body in bytes, other than those of ingest. Calls that need no token take 4 KiB. */
  jsonBodyMaxBytes: number;
  connections?: ConnectionLimits;
  /** Whether an address belongs to a proxy whose X-Forwarded-For and X-Forwarded-Proto count. */
  isTrusted?: (address: string) => boolean;
  /** Whether browsers reach the service by https only. */
  isSecure?: boolean;
  /** Throws 403 `approval_required` when somebody else must confirm the call. */
  approve?(route: GuardedRoute, call: Parameters<Foresee<RouteContract>>[0]): Promise<void>;
  /** Is called with the code of each problem that is answered. */
  onProblem?(code: ErrorCode): void;
};

/** Makes a fastify server. Every answer carries `x-request-id`, and every error is a problem document. */
export function createHttpServer(options: HttpOptions): HttpServer {
  const onProblem = (code: ErrorCode) => options.onProblem?.(code);
  const dialects: Dialect[] = [];
  const dialectOf = ({ url }: FastifyRequest) =>
    dialects.find(({ path }) => url.startsWith(basePath + path));
  const fastify = Fastify({
    // Fastify's message about listening is left out, because the app says when it is ready.
    loggerInstance: quiet(options.log),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.jsonBodyMaxBytes,
    trustProxy: options.isTrusted ?? false,
    genReqId: () => `req_${randomText(16)}`,
    forceCloseConnections: false,
    // An upload may take hours, so a whole request has no limit. The headers have one, an idle socket is closed, and
    // connections.ts limits the bodies.
    requestTimeout: 0,
    keepAliveTimeout: 72_000,
    // While the server closes, what still arrives on an open connection is answered as usual.
    return503OnClosing: false,
    frameworkErrors(error, request, reply) {
      // Such a request has passed no hook, so its headers must be set here.
      setCommonHeaders(request, reply);
      onProblem(sendProblem(error, { request, reply, dialect: dialectOf(request) }));
    },
    clientErrorHandler: refuseUnreadable,
    http: { maxHeaderSize, headersTimeout: 15_000, connectionsCheckingInterval: 2_000 },
    rewriteUrl: ({ url = '' }) =>
      dialects.some(({ path }) => url.startsWith(path)) ? basePath + url : url,
    routerOptions: { querystringParser: () => ({}), maxParamLength: 1000 },
  });
  const contracts: RouteContract[] = [];
  const guarded = new Map<string, GuardedRoute>();
  let isLeaving = false;

  const { server } = fastify;
  const connections = guardConnections(server, options.connections ?? usualLimits);
  answerUnusual(server);
  fastify.addHook('preClose', async () => connections.drain());
  const isSecure = options.isSecure === true;
  addHooks(fastify, { isLeaving: () => isLeaving, isSecure, dialectOf });
  fastify.setErrorHandler((error, request, reply) => {
    onProblem(sendProblem(error, { request, reply, dialect: dialectOf(request) }));
  });
  fastify.decorateRequest('jsonText', '');
  fastify.decorateRequest('traceParent', null);
  takeJson(fastify);

  const load = createSharedBudget(options.load ?? { total: Infinity, each: Infinity });
  const parts = { ...options, load, validator: new Validator(), connections };
  return {
    fastify,
    contracts,
    guarded,
    leave() {
      isLeaving = true;
    },
    isLeaving: () => isLeaving,
    cutConnections: () => connections.cut(),
    speak: (dialect) => void dialects.push(dialect),
    route(contract, given, foresee) {
      contracts.push(contract);
      let handler = given;
      if (foresee !== undefined) {
        const route = { contract, handler: given, foresee } as unknown as GuardedRoute;
        guarded.set(contract.id, route);
        handler = async (call) => {
          await options.approve?.(route, call);
          return given(call);
        };
      }
      if (!('streamedBody' in contract)) addRoute(fastify, contract, handler, parts);
      // The handler reads the body itself, whatever its type is.
      else
        fastify.register(async (own) => {
          if (contract.body === undefined) own.removeAllContentTypeParsers();
          own.addContentTypeParser('*', (_request, _body, done) => done(null));
          addRoute(own, contract, handler, parts);
        });
    },
  };
}

/** Answers requests that Node would answer by itself, or not at all. */
function answerUnusual(server: Server): void {
  // Without listeners Node answers an Expect header before anything is checked: with 100, or with a 417 that has no
  // body. A CONNECT would get no answer at all.
  server.on('checkContinue', (...exchange) => server.emit('request', ...exchange));
  server.on('checkExpectation', (...exchange) => server.emit('request', ...exchange));
  server.on('connect', (_request, socket: Socket) =>
    refuseConnection(socket, { code: 'route_not_found', detail: 'This is no proxy. See /docs.' }),
  );
}

/** What is done for each request before its route is called, and after: headers, refusals and compression. */
function addHooks(
  fastify: FastifyInstance,
  {
    isLeaving,
    isSecure,
    dialectOf,
  }: {
    isLeaving: () => boolean;
    isSecure: boolean;
    dialectOf: (request: FastifyRequest) => Dialect | undefined;
  },
): void {
  const unrouted = knowRoutes(fastify);
  // These hooks are no async functions: promises that nobody needs took a tenth of the time of a small request.
  fastify.addHook('onRequest', (request, reply, done) => {
    // The connection was cut after the request was read, as one of very many that came at the same time.
    if (request.raw.socket.destroyed) return void reply.hijack();
    setCommonHeaders(request, reply);
    if (isLeaving()) reply.raw.setHeader('connection', 'close');
    if (isSecure) reply.raw.setHeader('strict-transport-security', 'max-age=31536000');
    refuseTwoHosts(request.raw);
    refuseUnknownExpectation(request.headers.expect);
    // This comes before the body is read: on a path that does not exist, anybody could send one.
    if (request.is404 || request.method === 'TRACE') {
      throw dialectOf(request)?.missing(request) ?? unrouted(request, reply);
    }
    done();
  });
  // Only a caller whose body is wanted is told to continue. One who is refused need not send it.
  fastify.addHook('preParsing', ({ headers, raw }, reply, payload, done) => {
    if (headers.expect !== undefined && !raw.complete) reply.raw.writeContinue();
    done(null, payload);
  });
  fastify.addHook('onSend', ({ headers, raw }, reply, payload, done) => {
    // The client may send its body all the same, and that could not be told from the next request, so the connection
    // closes.
    const isBodyRefused = headers.expect !== undefined && !raw.complete;
    if (isBodyRefused || isLeaving()) reply.header('connection', 'close');
    done(null, payload);
  });
  // What has no route (404, 405) is not compressed, and so says no `Vary`: no such answer has more than a few lines.
  fastify.addHook('onRoute', (route) => {
    if (![route.method].flat().every((method) => method === 'GET' || method === 'HEAD')) return;
    route.onSend = [compressAnswer, ...[route.onSend ?? []].flat()];
  });
}

/** Parses bodies of JSON, and no others. */
function takeJson(fastify: FastifyInstance): void {
  // Many clients send a DELETE with an empty body and a JSON content type; that is not an error.
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
}

/** Keeps only warnings and errors of fastify itself, unless the log shows details. */
function quiet(log: Log): FastifyBaseLogger {
  return log.isLevelEnabled('debug') ? log : log.child({}, { level: 'warn' });
}

/** A signal that aborts when the answer is sent, or its reader has hung up. */
export function untilGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => gone.abort());
  return gone.signal;
}

/** Sets headers on the raw answer, which exports and downloads write to. Routes that may be cached overwrite them. */
function setCommonHeaders(request: FastifyRequest, { raw }: FastifyReply): void {
  raw.setHeader('x-request-id', request.id);
  raw.setHeader('x-content-type-options', 'nosniff');
  raw.setHeader('cache-control', 'no-store');
}
