import { AppError } from '../kernel/errors.ts';
import type { Context } from './context.ts';
import { usage } from './help.ts';
import { interrupted } from './retry.ts';

const longestSecret = 1000;

/** Asks a question at the terminal without showing what is typed. Throws `interrupted` on Ctrl-C. */
export async function askSecret(context: Context, question: string): Promise<string> {
  const { stdin, stderr } = context.io;
  stderr.write(question);
  stdin.setRawMode?.(true);
  try {
    let answer = '';
    for await (const chunk of typed(context)) {
      for (const character of chunk.toString()) {
        if (character === '\r' || character === '\n') return answer.trim();
        if (character === '\u0003') throw interrupted();
        if (character === '\u007f' || character === '\b') answer = answer.slice(0, -1);
        else if (answer.length < longestSecret) answer += character;
      }
    }
    return answer.trim();
  } finally {
    stdin.setRawMode?.(false);
    stderr.write('\n');
  }
}

/** The first line of stdin, for `svcctl login < file`. */
export async function readFirstLine(context: Context): Promise<string> {
  let text = '';
  for await (const chunk of typed(context)) {
    text += chunk.toString();
    if (text.includes('\n') || text.length > longestSecret) break;
  }
  return (text.split('\n')[0] ?? '').trim();
}

/** Reads all of stdin as text. Throws `body_too_large` beyond `maxBytes`, and `interrupted` on Ctrl-C. */
export async function readStdin(context: Context, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of typed(context)) {
    const piece = Buffer.from(chunk);
    sizeBytes += piece.length;
    if (sizeBytes > maxBytes) throw new AppError('body_too_large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

async function ask(context: Context, prompted: string): Promise<string> {
  // Loaded here: most commands ask nothing, and the command line starts sooner without it.
  const { createInterface } = await import('node:readline/promises');
  const prompt = createInterface({ input: context.io.stdin, output: context.io.stderr });
  try {
    return (await prompt.question(prompted, { signal: context.io.signal })).trim();
  } finally {
    prompt.close();
  }
}

/** Yields what comes from stdin until the command is interrupted. A plain read would wait for ever. */
async function* typed({ io }: Context): AsyncGenerator<string | Buffer> {
  if (io.signal.aborted) throw interrupted();
  const pieces = io.stdin[Symbol.asyncIterator]();
  const interruption = new Promise<never>((_resolve, reject) => {
    io.signal.addEventListener('abort', () => reject(interrupted()), { once: true });
  });
  for (;;) {
    const { value, done } = await Promise.race([pieces.next(), interruption]);
    if (done) return;
    yield value;
  }
}

export type Question = {
  /** The prompt, such as "Revoke tok_1? …". */
  question: string;
  /** What --yes does without asking, such as "Revoke". */
  act: string;
  /** What has to be typed instead of y, where a hasty yes would be too bad. */
  name?: string;
  /** What is printed after a no, if not that nothing was changed. */
  refused?: string | undefined;
};

/**
 * Asks y/N at the terminal, unless --yes was given. Where a profile says which service it is, the question names it: a
 * profile may have been stored long ago, for another one than the person has in mind. Throws `usage_invalid` where there is no terminal, and
 * `interrupted` after a no.
 */
export async function confirm(
  context: Context,
  yes: true | undefined,
  { question, name, act, refused = 'Nothing was changed.' }: Question,
): Promise<void> {
  if (yes) return;
  assertCanAsk(context, act);
  const connection = context.connection();
  const at = connection?.profile ? `On ${connection.url} (profile ${connection.profile}): ` : '';
  const isMeant =
    name === undefined
      ? /^y(es)?$/i.test(await ask(context, `${at}${question} [y/N] `))
      : (await ask(context, `${at}${question} Type ${name} to do so: `)) === name;
  if (!isMeant) throw new AppError('interrupted', { detail: refused });
}

/** Whether there is a terminal to ask at. */
export function canAsk({ io }: Context): boolean {
  return io.stdin.isTTY === true && io.stderr.isTTY === true;
}

/** Throws `usage_invalid` where there is no terminal to ask at. Commands call it before they do any work. */
export function assertCanAsk(context: Context, act: string): void {
  if (canAsk(context)) return;
  throw usage(`There is no terminal to ask at. ${act} without asking: --yes`);
}
