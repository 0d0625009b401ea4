import { type Static, type TObject, type TSchema, type TString, Type } from 'typebox';
import type { FourEyesAct, Scope } from '../../kernel/values.ts';
import { problem } from './schemas.contract.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Describes a route as data. The same description validates its input, documents it in OpenAPI, and gives its handler
 * and its clients their types. `path` is relative to the base URL and writes parameters as `:id`.
 */
export type RouteContract = {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** The scope that the call needs; `any` means any valid token, null means that the call is open to everybody. */
  readonly scope: Scope | 'any' | null;
  /**
   * Set on what is destructive: a console session must have given its access token again within ten minutes. With
   * `when`, this holds only if one of these fields of the body is present and not false, with `unless` only if that is not
   * true.
   */
  readonly stepUp?: true | { readonly when: readonly string[] } | { readonly unless: string };
  /**
   * Whether a token that is limited to stores may call; without it, none may. `named`: the query or the body names a tenant
   * and a store, of which alone the answer is (`withinStore`). `own`: the handler heeds them itself, or tells of the caller
   * alone; where it asks for a tenant, such a caller reaches none.
   */
  readonly stores?: 'named' | 'own';
  /**
   * Set where the statement that stores what a JSON body holds checks the token (`tokensStand`), so that it need not be
   * looked up before.
   */
  readonly checksToken?: true;
  /** The acts that it may be, which another must confirm where `SVC_FOUR_EYES` names them. */
  readonly fourEyes?: readonly FourEyesAct[];
  readonly params?: TSchema;
  /** The query parameters: an object of text, integer and boolean properties. */
  readonly query?: TSchema;
  /** The JSON body, which is validated before the handler runs. */
  readonly body?: TSchema;
  /** Headers that the handler looks at, documented by what they do. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Bodies that the handler reads as a stream, by media type: documented, not validated. A `body` is for JSON. */
  readonly streamedBody?: Readonly<Record<string, TSchema>>;
  readonly responses: Readonly<Record<number, ResponseContract>>;
};

export type ResponseContract = {
  readonly description: string;
  readonly schema?: TSchema;
  /** The media type of the answer, or all that it may have; `application/json` by default. */
  readonly mediaType?: string | readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
};

type Part<C, K extends string> =
  C extends Readonly<Record<K, infer S extends TSchema>> ? Static<S> : undefined;

/** What a handler of this contract receives. It has been checked already. */
export type InputOf<C extends RouteContract> = {
  readonly params: Part<C, 'params'>;
  readonly query: Part<C, 'query'>;
  readonly body: Part<C, 'body'>;
};

type Row = Omit<RouteContract, 'id' | 'tag' | 'method' | 'path'> & {
  readonly tag?: string;
  /** The method and the path, as `GET /incidents/:id`: what clients know the route by. */
  readonly route: `${Method} /${string}`;
};

type CallOf<R extends Row> = R['route'] extends `${infer M extends Method} ${infer Path}`
  ? { readonly method: M; readonly path: Path }
  : never;

/** The names of the parameters in a path. */
type NamesIn<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
type ParamsOf<R extends Row> = R extends { readonly params: TSchema }
  ? unknown
  : [NamesIn<R['route']>] extends [never]
    ? unknown
    : { readonly params: TObject<{ [Name in NamesIn<R['route']>]: TString }> };

/**
 * Makes contracts of routes that stand under one heading of the reference. Each is named by its key. None need say that
 * the parameters in its path are text, nor that it refuses an id that is not there (404).
 */
export function routesUnder<const Rows extends Readonly<Record<string, Row>>>(
  tag: string,
  rows: Rows,
) {
  const named = Object.entries(rows).map(([id, row]) => {
    const [method, path = ''] = row.route.split(' ');
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
    const texts = Object.fromEntries(names.map((name) => [name, Type.String()]));
    const params = row.params ?? (names.length > 0 && Type.Object(texts));
    const responses = { ...(params && { 404: problem }), ...row.responses };
    return [id, { id, tag, method, path, ...row, ...(params && { params }), responses }];
  });
  return Object.fromEntries(named) as {
    readonly [Id in keyof Rows & string]: Rows[Id] &
      CallOf<Rows[Id]> &
      ParamsOf<Rows[Id]> & { readonly id: Id; readonly tag: string };
  };
}
