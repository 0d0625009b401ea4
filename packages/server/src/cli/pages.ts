import { AppError } from '../kernel/errors.ts';
import { JsonItems } from '../kernel/json-items.ts';
import type { Client, Route, RouteAnswer, RouteInput, RouteQuery } from './client.ts';
import type { Io } from './io.ts';
import { parseAnswer } from './parse-answer.ts';
import { withRetries } from './retry.ts';

/** Most rows of one page: the limit of the API. */
export const maxPageRows = 500;
const maxDeadLetterRows = 200;

/** One page of a list: its rows as the API wrote them, and the cursor of the next page. */
export type Page = {
  rows: string[];
  /** Null on the last page. */
  nextCursor: string | null;
  /** What else it tells, by its name in the API; null where it does not. */
  readonly member: (name: string) => unknown;
};

/** The routes that answer a list. */
export type ListRoute = {
  [R in Route & `GET ${string}`]: RouteAnswer<R> extends { data: readonly unknown[] } ? R : never;
}[Route & `GET ${string}`];

export type RowOf<R extends ListRoute> =
  RouteAnswer<R> extends { data: readonly (infer Row)[] } ? Row : never;

/** These answer all rows at once, and take no limit. */
const wholeRoutes: readonly ListRoute[] = [
  ...(['GET /notify/targets', 'GET /retention/orphans', 'GET /tokens'] as const),
  ...(['GET /approvals', 'GET /views', 'GET /webhook/portal-links'] as const),
];

/** Which list to walk through, and how far. */
export type PageWalk<R extends ListRoute> = {
  route: R;
  query: RouteQuery<R>;
  /** Most rows in all; undefined means all of them. */
  most?: number;
};

/**
 * Walks through a list page by page. If the service answers 429 or 503, the first call fails at once, so that a command
 * answers quickly; later calls wait, because starting over would be worse.
 */
export async function* walkPages<R extends ListRoute>(
  io: Io,
  client: Client,
  { route, query, most = Number.POSITIVE_INFINITY }: PageWalk<R>,
): AsyncGenerator<Page, void, undefined> {
  let left = most;
  let cursor: string | null | undefined;
  const isWhole = wholeRoutes.includes(route);
  const pageRows = route === 'GET /webhook/dlq' ? maxDeadLetterRows : maxPageRows;
  while (cursor !== null && left > 0) {
    const here = cursor === undefined ? {} : { cursor, start: undefined };
    const limit = isWhole ? {} : { limit: Math.min(pageRows, left) };
    const input = { query: { ...query, ...here, ...limit } } as unknown as RouteInput<R>;
    const read = () => client.text(route, input);
    const page = parsePage(cursor === undefined ? await read() : await withRetries(io, read));
    if (page.nextCursor !== null && page.nextCursor === cursor) {
      throw new AppError('answer_unexpected', { detail: 'The list turns in a circle.' });
    }
    yield page;
    left -= page.rows.length;
    cursor = page.nextCursor;
  }
}

/** Walks through all rows of a list. */
export async function* walkRows<R extends ListRoute>(
  io: Io,
  client: Client,
  walk: PageWalk<R>,
): AsyncGenerator<RowOf<R>, void, undefined> {
  for await (const { rows } of walkPages(io, client, walk)) {
    for (const row of rows) yield parseAnswer(row) as RowOf<R>;
  }
}

/** Cuts the text of a page into the texts of its rows. Throws `answer_unexpected`. */
export function parsePage(text: string): Page {
  let rows: string[] | undefined;
  const members = new Map<string, string>();
  // The rows are cut at once: to look for the end of all of them first would take as long again.
  for (const items = new JsonItems(text); items.next(); ) {
    if (items.name === 'data') rows = items.elements;
    else members.set(items.name ?? '', items.value);
  }
  const member = (name: string) => parseAnswer(members.get(name) ?? 'null');
  const nextCursor = member('next_cursor');
  if (rows === undefined || (nextCursor !== null && typeof nextCursor !== 'string')) {
    throw new AppError('answer_unexpected', { detail: 'The answer is not a page of a list.' });
  }
  return { rows, nextCursor, member };
}
