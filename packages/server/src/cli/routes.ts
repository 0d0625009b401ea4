import type { Static, TSchema } from 'typebox';
import type { apiContract } from '../contract.ts';
import type { InputOf } from '../platform/http/contract.ts';

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
