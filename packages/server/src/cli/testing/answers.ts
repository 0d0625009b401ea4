import { apiContract } from '../../contract.ts';
import type { Route, RouteAnswer } from '../client.ts';

type Row<R extends Route> = RouteAnswer<R> extends { data: readonly (infer One)[] } ? One : never;

/**
 * What a route answers, with the least that its contract allows: null, no rows, zero, false and empty texts, and ten
 * o'clock for every time. A test says in `changes` what it looks at, so that a new field is not added to all of them.
 */
export function answerOf<R extends Route>(
  route: R,
  changes: Partial<RouteAnswer<R>> = {},
): RouteAnswer<R> {
  return Object.assign(leastOf(answerSchema(route)) as RouteAnswer<R> & object, changes);
}

/** The same for a row of a list. */
export function rowOf<R extends Route>(route: R, changes: Partial<Row<R>> = {}): Row<R> {
  const row = answerSchema(route).properties?.data?.items;
  if (row === undefined) throw new Error(`${route} answers no list`);
  return Object.assign(leastOf(row) as Row<R> & object, changes);
}

type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>> & { readonly data?: Schema };
  readonly items?: Schema;
};

function answerSchema(route: Route): Schema {
  const found = Object.values(apiContract).find(
    ({ method, path }) => `${method} ${path}` === route,
  );
  const answers = (found?.responses ?? {}) as Readonly<Record<number, { schema?: Schema }>>;
  return (answers[200] ?? answers[201] ?? answers[202])?.schema ?? {};
}

const least: Readonly<Record<string, unknown>> = {
  array: [],
  boolean: false,
  integer: 0,
  null: null,
  number: 0,
  string: '',
};
const leastTimes: Readonly<Record<string, string>> = {
  date: '2001-01-01',
  'date-time': '2026-03-05T10:00:00.000000Z',
};

function leastOf({ type = '', format = '', anyOf, required = [], ...schema }: Schema): unknown {
  if (anyOf !== undefined) {
    return anyOf.some((one) => one.type === 'null') ? null : leastOf(anyOf[0] ?? {});
  }
  const [word = schema.const] = schema.enum ?? [];
  if (word !== undefined) return word;
  if (type !== 'object') return leastTimes[format] ?? least[type];
  const members = Object.entries(schema.properties ?? {});
  return Object.fromEntries(
    members.flatMap(([name, of]) => (required.includes(name) ? [[name, leastOf(of)]] : [])),
  );
}
