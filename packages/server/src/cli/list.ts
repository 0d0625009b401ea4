import { Option } from 'commander';
import { formatCount, numberOf } from '../kernel/values.ts';
import { type Chosen, type Filters, paramsOf } from '../kernel/view.ts';
import type { Client, RouteQuery } from './client.ts';
import { inLocalTime } from './columns.ts';
import type { Context } from './context.ts';
import { formatInstant } from './format.ts';
import { usage, wholeNumber } from './help.ts';
import { createRowPrinter, type JsonOption, type Output } from './output.ts';
import { type ListRoute, type Page, type PageWalk, type RowOf, walkPages } from './pages.ts';
import { createProgress } from './progress.ts';
import { checkDays } from './slice.ts';
import type { Column } from './table.ts';
import { readTimes } from './times.ts';
import {
  type Format,
  formatOptions,
  jsonOption,
  localOption,
  type Own,
  optionsOf,
  type Verb,
} from './verb.ts';

/** What was printed of a list. */
export type Listed = {
  readonly client: Client;
  readonly printed: number;
  /** Number of rows on all pages; null for lists that do not tell. */
  readonly total: number | null;
  /** Whether the limit kept rows from being printed, and where these begin. */
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
  readonly sums: Readonly<Record<string, number>>;
  /** What else the last page tells. */
  readonly member: Page['member'];
};

/** The line below a table: `50 moves · more: --all · look at one: svcctl retention move mv_…`. */
type Below = {
  /** What is said instead when there are no rows. */
  readonly none?: string;
  readonly one: string;
  readonly many?: string;
  /** What to do next. */
  readonly next?: string;
};

type Options = {
  limit?: number;
  all?: true;
  json?: JsonOption;
  output?: Format;
  header?: boolean;
  local?: true;
};

/** Describes a command that prints a list, page by page as it comes: as a table, or as JSON. */
export function list<
  R extends ListRoute,
  F extends Filters = Record<never, never>,
  Given extends object = Chosen<F>,
>(
  route: R,
  view: Omit<Verb, 'act'> & {
    columns: readonly Column<RowOf<R>>[] | ((options: Given) => readonly Column<RowOf<R>>[]);
    /** Its filters, as options before the others. */
    filters?: F;
    /** What is asked for beside what the filters say. Throws `usage_invalid`. */
    query?: (options: Given, argument: string) => RouteQuery<R>;
    /** What is asked for one after the other, where the route lists only a part at a time. The limit is of all. */
    each?: (options: Given) => readonly Partial<RouteQuery<R>>[];
    /** What --limit counts, and its default; without it all rows are printed. On a pipe `onPipe` is the default. */
    limit?: { of?: string; rows: number; onPipe?: number };
    /** Members of the rows that are summed up, for the line below. */
    sums?: readonly (keyof RowOf<R> & string)[];
    /** What is said beside the rows, however they are printed. */
    note?: (member: Page['member']) => string | null;
    below: Below | ((listed: Listed, options: Given) => string);
  },
): Verb {
  const { columns, query, each, limit, sums = [], note, below, options = [], ...rest } = view;
  const { filters = {} as F, ...words } = rest;
  const hasTimes = typeof columns !== 'function' && columns.some(({ isInstant }) => isInstant);
  return {
    ...words,
    route,
    answers: `${route} data`,
    options: [
      ...optionsOf(filters),
      ...options,
      ...(limit === undefined ? [] : [limitOption(limit), allOption]),
      jsonOption,
      ...formatOptions,
      ...(hasTimes ? [localOption] : []),
    ],
    async act(context: Context, options: Options, argument: string) {
      const {
        json,
        output: format,
        header: hasHeader = true,
        limit: most,
        all,
        local,
        ...rest
      } = options;
      const given = rest as Given;
      if (local && (isForPrograms(options) || !(context.isTerminal || format !== undefined))) {
        throw usage('--local is for tables alone: on a terminal, or with -o table.');
      }
      const shown = typeof columns === 'function' ? columns(given) : columns;
      const asked = {
        ...paramsOf(filters, given as Chosen<F>),
        ...readEnds(filters, given, context.io.now()),
        ...query?.(given, argument),
      };
      const isSummed = context.isTerminal && !isForPrograms(options);
      const byDefault = context.isTerminal ? limit?.rows : (limit?.onPipe ?? limit?.rows);
      const listed = await printPages<R>(
        context,
        {
          route,
          query: asked as RouteQuery<R>,
          each: each?.(given),
          most: most ?? (all ? undefined : byDefault) ?? Number.POSITIVE_INFINITY,
        },
        {
          columns: local ? inLocalTime(shown, context.io.env) : shown,
          json,
          format,
          hasHeader,
          // Summing up parses every row, which takes as long as all else of a long list.
          sums: isSummed ? sums : [],
        },
      );
      const said = note?.(listed.member) ?? null;
      if (said !== null) context.note(said);
      if (!isSummed) return;
      context.hint(typeof below === 'function' ? below(listed, given) : lineBelow(listed, below));
    },
  };
}

/** The ends of a list by time, as the API takes them. Throws `usage_invalid`. */
function readEnds(
  { from }: Filters,
  given: { from?: string; to?: string },
  nowMillis: number,
): { from?: string; to?: string } {
  if (from?.isTime) return readTimes(given, nowMillis);
  if (from?.isDay) checkDays(given);
  return {};
}

/** Prints the rows of a list, page by page as they come, and says how far it has looked. */
export async function printPages<R extends ListRoute>(
  context: Context,
  { each = [{}], ...walk }: PageWalk<R> & { each?: readonly Partial<RouteQuery<R>>[] | undefined },
  { sums = [], ...output }: Output<RowOf<R>> & { sums?: readonly (keyof RowOf<R> & string)[] },
): Promise<Listed> {
  const printer = createRowPrinter<RowOf<R>>(context, output);
  const client = await context.connect();
  let searchedTo = '';
  let listed: Listed = {
    client,
    printed: 0,
    total: null,
    hasMore: false,
    nextCursor: null,
    sums: {},
    member: () => null,
  };
  const progress = createProgress(context.io, {
    label: 'searched to',
    total: 0,
    describe: () => searchedTo,
    pace: () => `${formatCount(listed.printed)} found`,
  });
  const show = async (page: Page, before: Pick<Listed, 'total' | 'hasMore'>, left: number) => {
    progress.clear();
    const shown = left > 0 ? page.rows : [];
    await printer.write(shown);
    const printed = listed.printed + shown.length;
    const rows = sums.length === 0 ? [] : shown.map((row) => JSON.parse(row));
    const summed = sums.map((name) => [
      name,
      rows.reduce((sum, row) => sum + row[name], listed.sums[name] ?? 0),
    ]);
    const told = page.member('total') as number | null;
    const total = told === null ? null : (before.total ?? 0) + told;
    const { nextCursor, member } = page;
    const hasMore = before.hasMore || nextCursor !== null || shown.length < page.rows.length;
    listed = {
      client,
      printed,
      total,
      hasMore,
      nextCursor,
      member,
      sums: Object.fromEntries(summed),
    };
    searchedTo = placeOf(page.member('searched_to'));
    if (searchedTo !== '') progress.update(printed, 0);
  };
  for (const part of each) {
    const before = listed;
    const left = (walk.most ?? Number.POSITIVE_INFINITY) - before.printed;
    // Of a part that the limit leaves no room for, one row is asked for, to know whether there is more.
    const here = { ...walk, query: { ...walk.query, ...part }, most: Math.max(1, left) };
    for await (const page of walkPages<R>(context.io, client, here)) await show(page, before, left);
  }
  progress.clear();
  await printer.end();
  return listed;
}

/** How far a page that is not full has looked, such as `TX DFW 2026-03-05T00:00:00.000000Z`, or a time alone. */
function placeOf(searched: unknown): string {
  if (typeof searched === 'string') return formatInstant(searched);
  const { tenant, store, occurred_at } = (searched ?? {}) as Record<string, string | null>;
  return [tenant, store, occurred_at].filter((name) => name != null).join(' ');
}

function isForPrograms({ json, output }: Options): boolean {
  return json !== undefined || (output !== undefined && output !== 'table' && output !== 'wide');
}

/** What is said where the limit kept rows from being printed. */
export const moreText = 'more: --all';

export const allOption: Own<{ all?: true }> = new Option(
  '--all',
  'all rows, however many',
).conflicts('limit');

function limitOption({
  of = 'rows',
  rows,
  onPipe,
}: {
  of?: string;
  rows: number;
  onPipe?: number;
}) {
  const when = onPipe === undefined ? `${rows}` : `${rows} on a terminal, else all`;
  return [`--limit <${of}>`, `${of}, at most (default: ${when})`, wholeNumber(1)] as const;
}

function lineBelow({ printed, total, hasMore }: Listed, { none, one, many, next }: Below): string {
  if (printed === 0 && none !== undefined) return none;
  const of = total === null || !hasMore ? '' : ` of ${formatCount(total)}`;
  const parts = [`${numberOf(printed, one, many)}${of}`];
  if (hasMore) parts.push(moreText);
  if (next !== undefined) parts.push(next);
  return parts.join(' · ');
}
