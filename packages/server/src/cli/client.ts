import type { Static, TSchema } from 'typebox';
import type { apiContract } from '../contract.ts';
import type { InputOf } from '../platform/http/contract.ts';
import type { Connection } from './connection.ts';
import type { Io } from './io.ts';
import { parseAnswer, spellJson } from './parse-answer.ts';
import { afterShortWaits, interrupted } from './retry.ts';
import { type Call, readProblem, readText, reasonOf, send, unreachable } from './send.ts';

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
      ...(body === undefined ? {} : { body: spellJson(body) }),
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

type Words = Record<string, string | number | boolean | undefined>;
type LooseInput = {
  params?: Words | undefined;
  query?: Words | undefined;
  body?: object;
  headers?: Record<string, string>;
};

/** Makes one call and answers the text of the answer. */
async function request(io: Io, connection: Connection, call: Call): Promise<string> {
  const response = await send(io, connection, {
    ...call,
    headers: { 'accept-encoding': 'gzip', ...call.headers },
  });
  const status = response.statusCode ?? 0;
  if (status < 200 || status > 299) throw await readProblem(response, io);
  try {
    return await readText(response, io.timeouts.idleMillis);
  } catch (error) {
    if (io.signal.aborted) throw interrupted();
    throw unreachable(connection, reasonOf(error), error);
  }
}

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
type Routes = { [C in Contract as C['route']]: C };
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
