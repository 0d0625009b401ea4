import type { Answer, CallOptions } from '../../../test/service.ts';
import type { RouteContract } from '../../contract.ts';
import { type Kind, kindOfPath, kindsByFilter, type MatrixTenant } from './matrix-world.ts';
import { type RouteCall, routeCalls } from './route-calls.ts';

/** A request about a tenant. `subjects` are the names and ids in it. */
export type Ask = {
  readonly path: string;
  readonly options: CallOptions;
  readonly call: RouteCall;
  readonly filter: string | null;
  readonly subjects: readonly string[];
};

/** All that can be asked of a route about a tenant: each of its calls, plain and with each filter alone. */
export async function asksOf(route: RouteContract, of: MatrixTenant): Promise<Ask[]> {
  const isFresh = route.method !== 'GET';
  const calls = (await routeCalls[route.id]?.(of)) ?? [{}];
  const filters = [null, ...filtersOf(route)];
  return Promise.all(
    calls.flatMap((call) =>
      filters.map(async (filter) => {
        const param = await paramOf(route, of, { isFresh, call });
        const kind = filter === null ? undefined : kindsByFilter[filter];
        const query = new URLSearchParams(call.query);
        if (filter !== null && kind !== undefined) query.set(filter, of.things[kind]);
        return {
          path: `${route.path.replace(/:\w+/, encodeURIComponent(param))}?${query.toString()}`,
          options: { body: call.body, ...(call.headers && { headers: call.headers }) },
          subjects: [...Object.values(of.things), ...(param === '' ? [] : [param])],
          call,
          filter,
        };
      }),
    ),
  );
}

async function paramOf(
  { path }: RouteContract,
  of: MatrixTenant,
  { isFresh, call }: { isFresh: boolean; call: RouteCall },
): Promise<string> {
  if (!path.includes(':')) return '';
  if (call.id !== undefined) return call.id;
  const kind: Kind = kindOfPath(path);
  return isFresh ? of.fresh(kind) : of.things[kind];
}

/** The filters of the route that name a tenant or a thing of one. */
export function filtersOf({ query }: RouteContract): string[] {
  const { properties = {} } = (query ?? {}) as { properties?: object };
  return Object.keys(properties).filter((name) => name in kindsByFilter);
}

/** An answer without what differs from call to call, and without the names and ids that were asked for. */
export function blind({ status, text }: Answer, { subjects }: Pick<Ask, 'subjects'>): string {
  let left = text;
  for (const subject of subjects.toSorted((a, b) => b.length - a.length)) {
    left = left.replaceAll(subject, '(it)');
  }
  left = left
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '(time)')
    .replace(/\b(req|run|vrf|rty|prg|tok|ses|ers)_\w+/g, '$1')
    .replace(/links\/\w+/g, 'links')
    .replace(/^id: \S+$/gm, 'id');
  return `${status} ${left}`;
}

/** The same request about the store that has the records, where the route takes a store. */
export function withStore({ query, body }: RouteContract, ask: Ask): Ask {
  const takes = (schema: object | undefined) =>
    schema !== undefined && 'properties' in schema && 'store' in Object(schema.properties);
  const path = takes(query) && !/[?&]store=/.test(ask.path) ? `${ask.path}&store=S` : ask.path;
  if (!takes(body)) return { ...ask, path };
  return {
    ...ask,
    path,
    options: { ...ask.options, body: { ...Object(ask.options.body), store: 'S' } },
  };
}
