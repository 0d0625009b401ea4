import { AppError } from '../kernel/errors.ts';
import { formatCount } from '../kernel/values.ts';
import { ApiError } from './api-error.ts';
import type { Client, Route, RouteAnswer, RouteInput, RouteQuery } from './client.ts';
import { assertCanAsk, confirm } from './confirm.ts';
import type { Context } from './context.ts';
import { type Facts, factLines, inputOf, printDetails, type Times, timesOf } from './details.ts';
import { usage } from './help.ts';
import { type JsonOption, printObject, printRows } from './output.ts';
import { parseAnswer } from './parse-answer.ts';
import { withRetries } from './retry.ts';
import { fieldNames, fieldsSent } from './sent-fields.ts';
import { type Column, printable } from './table.ts';
import {
  type Argument,
  type ArgumentOf,
  flagsOf,
  type Given,
  jsonOption,
  localOption,
  type OptionRow,
  type Verb,
  yesOption,
} from './verb.ts';

type Asked = { yes?: true; json?: JsonOption; local?: true; dryRun?: true };
type Body<R extends Route> = RouteInput<R> extends { body: infer B } ? B : undefined;
type Word<Arg extends Argument | undefined> =
  ArgumentOf<Arg> extends string[] ? string : ArgumentOf<Arg>;

/** What a command prints and says of an answer. */
type Told<R extends Route, Rows extends readonly OptionRow[], Arg extends Argument | undefined> = {
  /** What is printed alone on stdout, such as a secret, unless --json asks for the whole answer. */
  prints?(answer: RouteAnswer<R>): string | null;
  /** What is printed in words on a terminal, and else as JSON. */
  facts?(answer: RouteAnswer<R>, times: Times, url: string): Facts;
  /** Lines below the facts, such as a section with a heading. `text` is what the service answered. */
  more?(answer: RouteAnswer<R>, text: string, context: Context, times: Times): readonly string[];
  /** What is printed as a table, unless --json asks for the whole answer. */
  table?(answer: RouteAnswer<R>): Table;
  /** What is said when it is done. */
  done?(
    id: Word<Arg>,
    answer: RouteAnswer<R>,
    asked: { readonly options: Given<Rows>; readonly nowMillis: number },
  ): string | null;
  /** What to do next. */
  next?(answer: RouteAnswer<R>, id: Word<Arg>): string | null;
};
type Table = { readonly rows: readonly object[]; readonly columns: readonly Column<never>[] };

/** What a command asks before it does anything, unless --yes is given. */
type Asks<R extends Route> = {
  question(ids: readonly string[], foreseen: RouteAnswer<R>): string;
  /** What --yes does without asking, such as "Revoke". */
  readonly act: string;
  /** What is said after a no; by default that nothing was changed. */
  readonly refused?: string;
  /** Has a dry run tell what would be done; answers the lines above the question. */
  foresee?(foreseen: RouteAnswer<R>): readonly string[];
  /** What has to be typed instead of y, where a hasty yes would be too bad. */
  name?(foreseen: RouteAnswer<R>): string;
};

type View<
  R extends Route,
  Rows extends readonly OptionRow[],
  Arg extends Argument | undefined,
> = Omit<Verb, 'act' | 'options' | 'argument'> &
  Told<R, Rows, Arg> & {
    readonly argument?: Arg;
    readonly options?: Rows;
    /** Throws `usage_invalid`, before anybody is asked. */
    check?(options: Given<Rows>, argument: ArgumentOf<Arg>): void;
    /** What is sent as the body; without it the options, each by the name that its row has in the API. */
    body?(
      options: Given<Rows>,
      context: Context,
      argument: ArgumentOf<Arg>,
    ): Body<R> | Promise<Body<R>>;
    /** The same for the query. */
    query?(options: Given<Rows>, argument: ArgumentOf<Arg>): RouteQuery<R>;
    /** What is said when no option says what to change. */
    readonly changes?: string;
    readonly asks?: Asks<R>;
    /** Makes several calls in place of one. */
    read?(
      context: Context,
      client: Client,
      options: Given<Rows>,
      argument: ArgumentOf<Arg>,
    ): Promise<RouteAnswer<R>>;
  };

/**
 * Describes a command that makes one call: its argument is the parameter in the path, its options are the query or the
 * body. Where the argument is a list (`<id...>`), it does the same to each.
 */
export function call<
  R extends Route,
  const Rows extends readonly OptionRow[] = [],
  const Arg extends Argument | undefined = undefined,
>(route: R, view: View<R, Rows, Arg>): Verb {
  const { argument, options: rows = [] as unknown as Rows, asks } = view;
  const has = (...names: (keyof typeof view)[]) => names.some((name) => name in view);
  const isPrinted = has('prints', 'facts', 'more', 'table');
  const hasJson = rows.some((row) => flagsOf(row).startsWith('--json'));
  const foresees = asks?.foresee !== undefined;
  const isQuery = route.startsWith('GET');
  const hasBody = !isQuery && !has('query') && Object.keys(fieldNames(rows)).length > 0;
  const inputFor = async (options: Given<Rows>, word: ArgumentOf<Arg>, context: Context) => {
    const fields = fieldsSent(rows, options as object);
    const own = await view.body?.(options, context, word);
    const sent = has('body') ? own : hasBody ? fields : undefined;
    return {
      query: view.query?.(options, word) ?? (isQuery ? fields : undefined),
      body: sent as object | undefined,
    };
  };
  return {
    ...(view as Omit<Verb, 'act'>),
    ...(argument && { argument }),
    route,
    answers: view.answers ?? route,
    isPlain: !has('body', 'query', 'read'),
    options: [
      ...rows,
      ...(asks ? [yesOption] : []),
      ...(isPrinted && !hasJson ? [jsonOption] : []),
      ...(isQuery && has('facts') ? [localOption] : []),
    ],
    async act(context: Context, { json, local, ...given }: Asked, word: ArgumentOf<Arg>) {
      const options = given as Given<Rows>;
      const { yes, dryRun } = given;
      view.check?.(options, word);
      if (local && (json !== undefined || !context.isTerminal)) {
        throw usage('--local is for what is told in words: on a terminal, without --json.');
      }
      const input = await inputFor(options, word, context);
      if (view.changes !== undefined && isEmpty(input.body)) throw usage(view.changes);
      const mustAsk = asks !== undefined && !yes && !dryRun;
      if (mustAsk && foresees) assertCanAsk(context, asks.act);
      const client = await context.connect();
      const send = (id: string, isDry?: boolean) => {
        const all = isDry === undefined ? input.body : { ...input.body, dry_run: isDry };
        return client.text(route, { ...inputOf(route, id, all), query: input.query });
      };
      const ids = word === undefined ? [''] : ([word].flat() as string[]);
      if (mustAsk)
        await ask(context, asks, { ids, foreseen: foresees ? await send('', true) : '' });
      const doOne = async (id: string) => {
        const made = await view.read?.(context, client, options, word);
        const text =
          made === undefined ? await send(id, foresees ? dryRun : undefined) : JSON.stringify(made);
        const { url } = client.connection;
        const times = timesOf(context, local);
        await tell(context, text, view, { id, json, times, options, url });
      };
      if (Array.isArray(word)) await doEach(context, ids, doOne);
      else await doOne(ids[0] ?? '');
    },
  };
}

function isEmpty(given: object = {}): boolean {
  return Object.values(given).every((value) => value === undefined);
}

function answerOf<R extends Route>(text: string): RouteAnswer<R> {
  // An answer 204 has no text.
  return (text === '' ? undefined : parseAnswer(text)) as RouteAnswer<R>;
}

async function ask<R extends Route>(
  context: Context,
  asks: Asks<R>,
  { ids, foreseen }: { ids: readonly string[]; foreseen: string },
): Promise<void> {
  const answer = answerOf<R>(foreseen);
  for (const line of asks.foresee?.(answer) ?? []) context.note(line);
  const typed = asks.name?.(answer);
  const { act, refused } = asks;
  const asked = { question: asks.question(ids, answer), act, refused };
  await confirm(context, undefined, typed === undefined ? asked : { ...asked, name: typed });
}

/** Prints an answer, and says what is done and what to do next. */
async function tell<
  R extends Route,
  Rows extends readonly OptionRow[],
  Arg extends Argument | undefined,
>(
  context: Context,
  text: string,
  told: Told<R, Rows, Arg>,
  {
    id,
    json,
    times,
    options,
    url,
  }: { id: string; json: JsonOption; times: Times; options: Given<Rows>; url: string },
): Promise<void> {
  const answer = answerOf<R>(text);
  const word = id as Word<Arg>;
  const isOfFacts = 'facts' in told || 'more' in told;
  if (isOfFacts) {
    const lines = () => [
      ...factLines(context, told.facts?.(answer, times, url) ?? []),
      ...(told.more?.(answer, text, context, times) ?? []),
    ];
    await printDetails(context, text, { json, lines });
  } else if (json !== undefined) await printObject(context, text, json);
  else if ('table' in told) {
    const { rows, columns } = told.table?.(answer) ?? { rows: [], columns: [] };
    await printRows(context, rows as never[], { columns, json });
  } else {
    const alone = told.prints?.(answer) ?? null;
    if (alone !== null) await context.out.write(`${alone}\n`);
  }
  for (const warning of warningsOf(answer)) context.note(`Mind: ${printable(warning)}`);
  const said = told.done?.(word, answer, { options, nowMillis: times.nowMillis }) ?? null;
  if (said !== null) context.note(said);
  const hint = json === undefined ? (told.next?.(answer, word) ?? null) : null;
  if (hint !== null && (context.isTerminal || !isOfFacts)) context.hint(hint);
}

/** What is allowed and yet seldom meant. */
function warningsOf(answer: unknown): readonly string[] {
  const { warnings } = (answer ?? {}) as { warnings?: unknown };
  return Array.isArray(warnings) ? warnings.filter((each) => typeof each === 'string') : [];
}

/**
 * Does the same with each id, one after the other. What the service refuses for one id (404, 409) is printed, and the
 * next is tried. Any other error would happen to all of them, and is thrown; so is the last one when all were refused.
 * Throws `partly_done` when some were.
 */
export async function doEach(
  context: Context,
  ids: readonly string[],
  doOne: (id: string) => Promise<void>,
): Promise<void> {
  const wanted = [...new Set(ids)];
  let refused = 0;
  for (const [done, id] of wanted.entries()) {
    try {
      await (done === 0 ? doOne(id) : withRetries(context.io, () => doOne(id)));
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409)) {
        if (done > refused) context.note(`${done - refused} done before this:`);
        throw error;
      }
      refused += 1;
      if (refused === wanted.length) throw error;
      context.note(`✗ ${id}: ${error.detail} (${error.status} ${error.code})`);
    }
  }
  if (refused === 0) return;
  throw new AppError('partly_done', {
    detail: `${formatCount(refused)} of ${formatCount(wanted.length)} refused. The others are done; the reasons stand above.`,
  });
}
