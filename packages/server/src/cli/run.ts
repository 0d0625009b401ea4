import { type Command, CommanderError } from 'commander';
import { AppError, errorCatalogue } from '../kernel/errors.ts';
import { createContext } from './context.ts';
import {
  type Failure,
  failureJson,
  failureText,
  hintsFor,
  toFailure,
  usageHints,
} from './failure.ts';
import { usage } from './help.ts';
import { type Io, OutputClosed } from './io.ts';
import { createProgram } from './program.ts';
import { commandNear, ownWords } from './words.ts';

/** Runs one command line and answers its exit code. Never throws. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  const context = createContext(io, () => program.opts<{ profile?: string }>().profile);
  const help: { text: string; isError: boolean }[] = [];
  const program: Command = await createProgram(context, {
    help: {
      writeOut: (text) => help.push({ text, isError: false }),
      writeErr: (text) => help.push({ text, isError: true }),
    },
    words: argv,
  });
  try {
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync(ownWords(program, argv).words, { from: 'user' });
    await printHelp();
    await context.out.flush();
    return 0;
  } catch (error) {
    return fail(error).catch(() => 1);
  }

  async function printHelp(): Promise<void> {
    for (const { text, isError } of help) {
      if (isError) io.stderr.write(text);
      else await context.out.write(text);
    }
  }

  async function fail(error: unknown): Promise<number> {
    if (error instanceof OutputClosed) return 0;
    if (error instanceof CommanderError) {
      const isHelp = help.length > 0;
      if (isHelp || error.exitCode === 0) {
        await printHelp();
        await context.out.flush();
        // A noun without a verb prints its help, but nothing was done, so this is a usage error.
        return error.exitCode === 0 ? 0 : errorCatalogue.usage_invalid.exit;
      }
    }
    const failure = await describe(error);
    const isJson = /(^| )(--json\b|(-o|--output)[ =]?(nd)?json( |$))/.test(argv.join(' '));
    io.stderr.write(isJson ? `${failureJson(failure)}\n` : failureText(io, failure));
    // What was printed before is for its reader, however slow that is: the end of the process would drop it.
    await context.out.flush().catch(() => {});
    return failure.exitCode;
  }

  async function describe(error: unknown): Promise<Failure> {
    if (io.signal.aborted) return toFailure(new AppError('interrupted'));
    const failure = toFailure(
      error instanceof CommanderError
        ? usage(await saidBy(error, ownWords(program, argv).command))
        : error,
    );
    const hints =
      failure.code === 'usage_invalid'
        ? usageHints(program, argv, failure.detail)
        : hintsFor(failure, context.connection());
    return { ...failure, hints: [...failure.hints, ...hints] };
  }
}

/** What commander says about a command line, as one sentence or two. */
async function saidBy(error: CommanderError, command: Command): Promise<string> {
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  if (suggestion !== undefined) return `${message}. ${suggestion.replace(/^\((.*)\)$/, '$1')}`;
  const [, unknown] = /^unknown command '(.*)'/.exec(message) ?? [];
  const near = unknown === undefined ? undefined : await commandNear(command, unknown);
  return near === undefined ? message : `${message}. Did you mean ${near}?`;
}
