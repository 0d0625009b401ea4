import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from './program.ts';
import { ownWords } from './words.ts';

const root = join(import.meta.dirname, '../../../..');
const documents = [
  ...['.', 'packages/server', 'packages/receive'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(root, folder, name)),
  ),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !/^(benchmarks|cli)\.md$/.test(name))
    .map((name) => join(root, 'docs', name)),
];

/** What is code in a document, by its line: lines of blocks, and what stands between backticks in a sentence. */
function* codeOf(text: string): Generator<{ line: number; code: string; isSaid?: true }> {
  let isBlock = false;
  let begun = '';
  for (const [at, line] of text.split('\n').entries()) {
    if (/^\s*```/.test(line)) isBlock = !isBlock;
    else if (!isBlock) {
      for (const [, code = ''] of line.matchAll(/`([^`]+)`/g))
        yield { line: at + 1, code, isSaid: true };
    } else if (line.endsWith('\\')) begun += `${line.slice(0, -1).trim()} `;
    else {
      yield { line: at + 1, code: begun + line.trim() };
      begun = '';
    }
  }
}

/** Where a command begins in a line: not where svcctl is a user, a host or the name of a chart. */
const begins =
  /(?<=^|[|;&($"'] ?|\w=\S* |sudo (?:-\S+ (?:svcctl )?)*|(?:env|npx|exec|then|do|--) )(?:[\w./]*\/)?svcctl(?:-here)? (?![\d=]|svcctl |\w+=)/g;
/** A word: quoted, escaped and plain pieces. Anything else ends the command: a pipe, a remark behind two spaces. */
const nextWord = / ?((?:"(?:\\.|[^"])*"|'[^']*'|\\.|\$\([^)]*\)|[^\s"'\\|&;<>()#]|(?<=\S)#)+)/y;

/** The words behind each svcctl in a line, as a shell makes them. */
function* commandsIn(code: string): Generator<string[]> {
  for (const { index, 0: found } of code.matchAll(begins)) {
    const words: string[] = [];
    const rest = code.slice(index + found.length);
    nextWord.lastIndex = 0;
    for (let next = nextWord.exec(rest); next !== null; next = nextWord.exec(rest)) {
      const word = (next[1] ?? '').replace(/"((?:\\.|[^"])*)"|'([^']*)'|\\(.)/g, '$1$2$3');
      // Three dots are the value of an option, or words that are left out.
      if (word !== '…' || words.at(-1)?.startsWith('--')) words.push(word);
    }
    yield words;
  }
}

/** A word that stands for what a reader puts in its place. */
const isPlaceholder = (word: string) => /^[A-Z][A-Z0-9_-]*$|[$…]/.test(word);

/** Has a command, and those below it, do nothing, and take placeholders for any value. A sentence may name no arguments. */
function disarm(command: Command, isSaid: boolean): void {
  for (const argument of command.registeredArguments) argument.required &&= !isSaid;
  for (const one of [...command.options, ...command.registeredArguments]) {
    const { parseArg: read } = one;
    // One of a few words is spelled, in documents too.
    if (read === undefined || one.argChoices !== undefined) continue;
    const take = (word: string, before: never) =>
      isPlaceholder(word) ? word : read<unknown>(word, before);
    one.parseArg = take as typeof read;
  }
  command.action(() => {});
  for (const one of command.commands) disarm(one, isSaid);
}

/** What is wrong with a command line, or null. */
async function faultOf(words: readonly string[], isSaid: boolean): Promise<string | null> {
  const out = { writeOut: () => {}, writeErr: () => {} };
  const program = await createProgram({ io: { stdout: {}, stderr: {} } } as never, {
    help: out,
    words,
  });
  for (const one of program.commands) disarm(one, isSaid);
  try {
    await program.parseAsync(ownWords(program, words).words, { from: 'user' });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 || error.code === 'commander.help' ? null : error.message;
  }
}

test('every command in the documents is one that the program takes', async () => {
  const faults: string[] = [];
  let seen = 0;
  for (const path of documents) {
    for (const { line, code, isSaid = false } of codeOf(readFileSync(path, 'utf8'))) {
      for (const words of commandsIn(code)) {
        seen += 1;
        const fault = await faultOf(words, isSaid);
        if (fault !== null)
          faults.push(`${relative(root, path)}:${line}: ${words.join(' ')}: ${fault}`);
      }
    }
  }
  expect(faults).toEqual([]);
  expect(seen).toBeGreaterThan(350);
});
