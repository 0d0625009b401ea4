import { AppError } from '../kernel/errors.ts';
import { formatCount } from '../kernel/values.ts';
import { ApiError } from './api-error.ts';
import type { Route, RouteAnswer, RouteInput } from './client.ts';
import { confirm, type Question } from './confirm.ts';
import type { Context } from './context.ts';
import { type Facts, factLines, inputOf, printDetails } from './details.ts';
import { fieldsOf } from './fields.ts';
import type { JsonOption } from './output.ts';
import { parseAnswer } from './parse-answer.ts';
import { withRetries } from './retry.ts';
import { jsonOption, type Verb, yesOption } from './verb.ts';

type Asked = { yes?: true; json?: JsonOption };

/**
 * Describes a command that does one thing to what its argument names, and says so on stderr. Where the argument is a list
 * (`<id...>`), it does the same to each.
 */
export function act<R extends Route & `${string}/:${string}`, Given extends object = object>(
  route: R,
  view: Omit<Verb, 'act' | 'argument'> & {
    argument: NonNullable<Verb['argument']>;
    body?: (options: Given) => RouteInput<R> extends { body: infer Body } ? Body : undefined;
    /** Asks before anything is done, unless --yes is given. */
    asks?: Omit<Question, 'question'> & { question: (ids: readonly string[]) => string };
    /** What is said when it is done. */
    done?: (id: string, answer: RouteAnswer<R>) => string;
    /** What is printed of the answer, in words on a terminal and else as JSON. */
    facts?: (answer: RouteAnswer<R>) => Facts;
  },
): Verb {
  const { body, asks, done, facts, options = [], ...words } = view;
  const more = [...(asks ? [yesOption] : []), ...(facts ? [jsonOption] : [])];
  return {
    ...words,
    options: [...options, ...more],
    async act(context: Context, options: Given & Asked, argument: string | string[]) {
      const { json, yes } = options;
      const ids = [argument].flat();
      const fields = await fieldsOf(json, route);
      const client = await context.connect();
      if (asks !== undefined) {
        await confirm(context, yes, { ...asks, question: asks.question(ids) });
      }
      const doOne = async (id: string) => {
        const input = inputOf(route, id, body?.(options) as object | undefined);
        const text = await client.text(route, input);
        const answer = () => (text === '' ? undefined : parseAnswer(text)) as RouteAnswer<R>;
        if (facts !== undefined) {
          const lines = () => factLines(context, facts(answer()));
          await printDetails(context, text, { json, fields, lines });
        }
        if (done !== undefined) context.note(done(id, answer()));
      };
      if (typeof argument === 'string') await doOne(argument);
      else await doEach(context, ids, doOne);
    },
  };
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
