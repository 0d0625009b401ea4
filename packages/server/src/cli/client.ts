import type { Static, TSchema } from 'typebox';
import type { apiContract } from '../contract.ts';
import { AppError } from '../kernel/errors.ts';
import { basePath } from '../kernel/values.ts';
import type { InputOf } from '../platform/http/contract.ts';
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import type { Io } from './io.ts';
import { JsonText, parseAnswer } from './parse-answer.ts';
import { afterShortWaits, interrupted } from './retry.ts';

/** Calls the API of one service, with one token. */
export type Client = {
  readonly connection: Connection;
  /** Calls a route and parses the answer. It is checked to be JSON; that it has the shape of the contract is trusted. */
  json<R extends Route>(route: R, input: RouteInput<R>): Promise<RouteAnswer<R>>;
  /** The same, but answers the text of the answer, so that numbers keep their digits. */
  text<R extends Route>(route: R, input: RouteInput<R>): Promise<string>;
  /** Sends a stream as the body, without a time limit while bytes move. Answers the text of the answer. */
  upload(
    route: Route,
    body: AsyncIterable<Uint8Array>,
    options: { headers: Record<string, string>; query?: Record<string, string> | undefined },
  ): Promise<string>;
};

/**
 * Makes the client that calls the API. Its calls throw an `ApiError` for what the service refuses,
 * `service_unreachable` when there is no answer, and `interrupted` when the signal aborts.
 */
export function createClient(io: Io, connection: Connection): Client {
  const text: Client['text'] = (route, input) => {
    const { params, query, body, headers } = input as LooseInput;
    const call: Call = {
      ...target(route, { params, query }),
      ...(body === undefined ? {} : { body: spell(body) }),
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    };
    return afterShortWaits(io, () => request(io, connection, call));
  };
  return {
    connection,
    text,
    async json(route, input) {
      const answer = await text(route, input);
      // An answer 204 has no text.
      return (answer === '' ? undefined : parseAnswer(answer)) as never;
    },
    upload: (route, body, { headers, query }) =>
      request(io, connection, { ...target(route, { query }), body, headers }),
  };
}

/** The text of a body, of which members may be spelled already. */
function spell(body: object): string {
  const members = Object.entries(body).filter(([, value]) => value !== undefined);
  const texts = members.map(([name, value]) => {
    return `"${name}":${value instanceof JsonText ? value.text : JSON.stringify(value)}`;
  });
  return `{${texts.join(',')}}`;
}

type Words = Record<string, string | number | boolean | undefined>;
type LooseInput = {
  params?: Words | undefined;
  query?: Words | undefined;
  body?: object;
  headers?: Record<string, string>;
};
type Call = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | AsyncIterable<Uint8Array>;
};

/** Makes one call and answers the text of the answer. */
async function request(io: Io, connection: Connection, call: Call): Promise<string> {
  // fetch itself would give up after 10 s without a connection, and 300 s without a byte of the body.
  const timer = new AbortController();
  const isUpload = call.body !== undefined && typeof call.body !== 'string';
  const timeout = isUpload ? undefined : setTimeout(() => timer.abort(), io.timeouts.answerMillis);
  try {
    const response = await fetch(`${connection.url}${basePath}${call.path}`, {
      method: call.method,
      headers: { ...call.headers, ...baseHeaders(connection) },
      ...(call.body === undefined ? {} : { body: call.body }),
      // fetch wants to be told that the answer may arrive while the stream is still being sent.
      ...(isUpload ? { duplex: 'half' as const } : {}),
      // Redirects are not followed: the token must not be sent anywhere else.
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
      throw unreachable(connection, `${noAnswer} ${io.timeouts.answerMillis / 1000} s`, error);
    }
    throw unreachable(connection, reasonOf(error), error);
  } finally {
    clearTimeout(timeout);
  }
}

/** The headers of every call. */
export function baseHeaders(connection: Connection): Record<string, string> {
  return {
    authorization: `Bearer ${connection.token}`,
    accept: 'application/json, application/problem+json',
    'user-agent': 'svcctl-cli',
  };
}

/** The error for a service that does not answer; it says where that service was looked for. */
export function unreachable(connection: Connection, reason: string, cause: unknown): AppError {
  return new AppError('service_unreachable', {
    detail: `${connection.url} does not answer: ${reason}. ${adviceOf(connection, reason)}`,
    cause,
  });
}

function adviceOf({ source, place }: Connection, reason: string): string {
  if (reason.startsWith(noAnswer)) {
    return 'Its process may be frozen, or has too much to do. On its machine: svcctl doctor';
  }
  return source === 'local service'
    ? 'The service of this folder seems to have stopped. Start it: svcctl serve'
    : `Is the service running, and is the URL right? It is from ${place}.`;
}

const noAnswer = 'no answer within';

/** Says in a few words what went wrong below HTTP. */
export function reasonOf(error: unknown): string {
  // fetch wraps the reason in an error, and a name with several addresses wraps one for each address.
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
  UND_ERR_HEADERS_TIMEOUT: `${noAnswer} 300 s`,
  UND_ERR_BODY_TIMEOUT: 'the answer stopped',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the host name cannot be looked up at the moment',
  EHOSTUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'no connection in time',
};

/** The method of a route, and its path with parameters and query filled in. */
export function target(route: Route, { params, query }: Pick<LooseInput, 'params' | 'query'>) {
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

// The API's contract, as types only. Loading the schemas would make the command line start more slowly, and the service
// checks every input anyway.

type Contract = (typeof apiContract)[keyof typeof apiContract];

/** All routes by their names: `routes['GET /me']`. */
type Routes = { [C in Contract as `${C['method']} ${C['path']}`]: C };
export type Route = keyof Routes;

type Loose<T> = T extends object ? { [K in keyof T]: T[K] | undefined } : undefined;
type Given<K extends string, T> = T extends undefined ? unknown : { readonly [P in K]: Loose<T> };

/** What a call of the route needs. Members that are undefined are left out. */
export type RouteInput<R extends Route> = Given<'params', InputOf<Routes[R]>['params']> &
  Partial<Given<'query', InputOf<Routes[R]>['query']>> &
  Given<'body', InputOf<Routes[R]>['body']> & {
    readonly headers?: Readonly<Record<string, string>>;
  };

/** The query of a list. */
export type RouteQuery<R extends Route> = Loose<InputOf<Routes[R]>['query']>;

type Schema<X> = X extends { readonly schema: infer S extends TSchema } ? Static<S> : undefined;

/** The body of the route's successful answer. */
export type RouteAnswer<R extends Route> = AnswerOf<Routes[R]['responses']>;

/** A union when the route has several successful answers, such as a preview or a job. */
type AnswerOf<Responses> = [keyof Responses & (200 | 201 | 202)] extends [never]
  ? undefined
  : Schema<Responses[keyof Responses & (200 | 201 | 202)]>;
