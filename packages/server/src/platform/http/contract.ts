import type { Static, TSchema } from 'typebox';
import type { Scope } from '../../kernel/values.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * A route as data: what validates it, documents it (OpenAPI) and types its handler and its clients.
 * `path` is relative to the base URL, parameters as `:id`.
 */
export type RouteContract = {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Scope needed; `any` = any valid token; null = open to all. */
  readonly scope: Scope | 'any' | null;
  /**
   * For what is destructive: a console session must have given its access token again within ten minutes.
   * `when`: only where this field of the body says so, by being there and not false.
   */
  readonly stepUp?: true | { readonly when: string };
  readonly params?: TSchema;
  /** An object of text, integer and boolean properties. */
  readonly query?: TSchema;
  /** JSON body, validated before the handler runs. */
  readonly body?: TSchema;
  /** Bodies the handler reads itself as a stream, by media type: documented, not validated here. */
  readonly streamedBody?: Readonly<Record<string, TSchema>>;
  readonly responses: Readonly<Record<number, ResponseContract>>;
};

export type ResponseContract = {
  readonly description: string;
  readonly schema?: TSchema;
  /** application/json unless said. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

type Part<C, K extends string> =
  C extends Readonly<Record<K, infer S extends TSchema>> ? Static<S> : undefined;

/** What a handler of this contract receives, already checked. */
export type InputOf<C extends RouteContract> = {
  readonly params: Part<C, 'params'>;
  readonly query: Part<C, 'query'>;
  readonly body: Part<C, 'body'>;
};
