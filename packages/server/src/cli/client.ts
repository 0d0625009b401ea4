import type { Static, TSchema } from 'typebox';
import type { apiContract } from '../contract.ts';
import { AppError } from '../kernel/errors.ts';
import type { InputOf } from '../platform/http/contract.ts';
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import type { Io } from './io.ts';
import { parseAnswer } from './parse-answer.ts';
import { interrupted } from './retry.ts';

export const basePath = '/api/v1';

export type Client = {
  readonly connection: Connection;
  /**
   * The answer parsed. Its shape is the contract's; only that it is JSON is checked. `bodyText` is sent
   * in place of the body: the same, with numbers as JavaScript cannot spell them.
   */
  json<R extends Route>(route: R, input: RouteInput<R>, bodyText?: string): Promise<RouteAnswer<R>>;
  /** The answer's text, to the letter. */
  text<R extends Route>(route: R, input: RouteInput<R>, bodyText?: string): Promise<string>;
  /** Sends a stream as the body; no time limit while it moves. Answers the text. */
  upload(
    route: Route,
    body: AsyncIterable<Uint8Array>,
    headers: Record<string, string>,
  ): Promise<string>;
};

/**
 * Calls the API. Throws `ApiError` for what the service refuses, `service_unreachable` when there is
 * no answer, `interrupted` when the signal aborts.
 */
export function createClient(io: Io, connection: Connection): Client {
  const text: Client['text'] = (route, input, bodyText) => {
    const { params, query, body, headers } = input as LooseInput;
    return request(io, connection, {
      ...target(route, params, query),
      ...(body === undefined ? {} : { body: bodyText ?? JSON.stringify(body) }),
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    });
  };
  return {
    connection,
    text,
    async json(route, input, bodyText) {
      const answer = await text(route, input, bodyText);
      // 204 has no text
      return (answer === '' ? undefined : parseAnswer(answer)) as never;
    },
    upload: (route, body, headers) =>
      request(io, connection, { ...target(route, undefined, undefined), body, headers }),
  };
}

type Words = Record<string, string | number | undefined>;
type LooseInput = {
  params?: Words;
  query?: Words;
  body?: unknown;
  headers?: Record<string, string>;
};
type Call = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | AsyncIterable<Uint8Array>;
};

async function request(io: Io, connection: Connection, call: Call): Promise<string> {
  // fetch itself gives up after 10 s without a connection and 300 s without a byte of the body.
  const timer = new AbortController();
  const isUpload = call.body !== undefined && typeof call.body !== 'string';
  const timeout = isUpload ? undefined : setTimeout(() => timer.abort(), io.timeouts.answerMillis);
  try {
    const response = await fetch(`${connection.url}${basePath}${call.path}`, {
      method: call.method,
      headers: { ...call.headers, ...baseHeaders(connection) },
      ...(call.body === undefined ? {} : { body: call.body }),
      // A stream goes out while the answer may come in already; fetch asks to have that said.
      ...(isUpload ? { duplex: 'half' as const } : {}),
      // The token must not follow a redirect anywhere.
      redirect: 'manual',
      signal: AbortSignal.any([io.signal, timer.signal]),
    });
    clearTimeout(timeout);
    const text = await response.text();
    if (!response.ok) throw new ApiError(response.status, response.headers, text);
    return text;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (io.signal.aborted) throw interrupted();
    if (timer.signal.aborted) {
      throw unreachable(connection, `no answer within ${io.timeouts.answerMillis / 1000} s`, error);
    }
    throw unreachable(connection, reasonOf(error), error);
  } finally {
    clearTimeout(timeout);
  }
}

/** Headers of every call. */
export function baseHeaders(connection: Connection): Record<string, string> {
  return {
    authorization: `Bearer ${connection.token}`,
    accept: 'application/json, application/problem+json',
    'user-agent': 'svcctl-cli',
  };
}

export function unreachable(connection: Connection, reason: string, cause: unknown): AppError {
  const start =
    connection.source === 'local service'
      ? 'The service of this folder seems to have stopped. Start it: npm start'
      : `Is the service running, and is the URL right? It is from ${connection.place}.`;
  return new AppError('service_unreachable', {
    detail: `${connection.url} does not answer: ${reason}. ${start}`,
    cause,
  });
}

/** What went wrong below HTTP, in few words. */
export function reasonOf(error: unknown): string {
  // fetch wraps the reason, and a name with several addresses wraps one per address
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  const code = first instanceof Error && 'code' in first ? String(first.code) : '';
  return reasons[code] ?? (first instanceof Error && first.message ? first.message : String(first));
}

const reasons: Record<string, string | undefined> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within 10 s',
  UND_ERR_HEADERS_TIMEOUT: 'no answer within 300 s',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the host name cannot be looked up at the moment',
  EHOSTUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'no connection in time',
};

function target(route: string, params: LooseInput['params'], query: LooseInput['query']) {
  const [method = '', template = ''] = route.split(' ');
  const path = template.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(params?.[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) search.set(name, String(value));
  }
  return { method, path: search.size === 0 ? path : `${path}?${search.toString()}` };
}

// The API's contract as types only: loading the schemas themselves would cost the command line its
// quick start, and the service checks every input anyway.

type Contract = (typeof apiContract)[keyof typeof apiContract];

/** Every route by what one writes: `routes['GET /me']`. */
type Routes = { [C in Contract as `${C['method']} ${C['path']}`]: C };
export type Route = keyof Routes;

type Loose<T> = T extends object ? { [K in keyof T]: T[K] | undefined } : undefined;
type Given<K extends string, T> = T extends undefined ? unknown : { readonly [P in K]: Loose<T> };

/** What a call of the route needs; members that are undefined are left out. */
export type RouteInput<R extends Route> = Given<'params', InputOf<Routes[R]>['params']> &
  Partial<Given<'query', InputOf<Routes[R]>['query']>> &
  Given<'body', InputOf<Routes[R]>['body']> & {
    readonly headers?: Readonly<Record<string, string>>;
  };

/** The query of a list. */
export type RouteQuery<R extends Route> = Loose<InputOf<Routes[R]>['query']>;

type Schema<X> = X extends { readonly schema: infer S extends TSchema } ? Static<S> : undefined;

/** What the route answers when all is well. */
export type RouteAnswer<R extends Route> = AnswerOf<Routes[R]['responses']>;

/** One of several when the route has several, such as a preview or a job. */
type AnswerOf<Responses> = [keyof Responses & (200 | 201 | 202)] extends [never]
  ? undefined
  : Schema<Responses[keyof Responses & (200 | 201 | 202)]>;
