import { createInterface } from 'node:readline/promises';
import type { Context } from './context.ts';
import { interrupted } from './retry.ts';

const longestSecret = 1000;

/** Asks at the terminal and shows nothing of what is typed. Throws `interrupted` on Ctrl-C. */
export async function askSecret(context: Context, question: string): Promise<string> {
  const { stdin, stderr } = context.io;
  stderr.write(question);
  stdin.setRawMode?.(true);
  try {
    let answer = '';
    for await (const chunk of typed(context)) {
      for (const character of chunk) {
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
    text += chunk;
    if (text.includes('\n') || text.length > longestSecret) break;
  }
  return (text.split('\n')[0] ?? '').trim();
}

/** Asks y/N at the terminal. */
export async function askYes(context: Context, question: string): Promise<boolean> {
  const prompt = createInterface({ input: context.io.stdin, output: context.io.stderr });
  try {
    const answer = await prompt.question(`${question} [y/N] `, { signal: context.io.signal });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    prompt.close();
  }
}

/** What comes in on stdin, until the command is interrupted: a read alone would wait for ever. */
async function* typed({ io }: Context): AsyncGenerator<string> {
  if (io.signal.aborted) throw interrupted();
  const pieces = io.stdin[Symbol.asyncIterator]();
  const interruption = new Promise<never>((_resolve, reject) => {
    io.signal.addEventListener('abort', () => reject(interrupted()), { once: true });
  });
  for (;;) {
    const { value, done } = await Promise.race([pieces.next(), interruption]);
    if (done) return;
    yield value.toString();
  }
}
