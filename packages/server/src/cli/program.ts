import { Command, Help } from 'commander';
import { readRelease } from '../config/release.ts';
import type { Context } from './context.ts';
import { addNoun, addVerbs, type Described, fillVerb, type Verbs } from './verb.ts';

export type HelpOutput = { writeOut(text: string): void; writeErr(text: string): void };

const footer = `
Where commands find the service, first found wins: SVC_URL and SVC_TOKEN; --profile or SVC_PROFILE;
the service of SVC_DATA_DIR; the default profile (svcctl login); the service of ./data. Which it is: svcctl profile show

Words of the same meaning are understood: list for ls, get for show, add for create, delete and remove for rm, and the
other way round; --state for --status.

A busy service (429) is asked again up to three times when it says to wait five seconds or less; else the
error says when to try again.

Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 access, 5 unavailable, 6 conflict, 7 partly done,
130 interrupted.`;

/** A noun, or a command that has none, with what the help of the program says of it. */
type Part = {
  readonly name: string;
  readonly summary: string;
  /** What follows the name of a command in the help of the program; nothing follows that of a noun. */
  readonly takes?: string;
  /** Loads the file under commands/ that describes it, under its name. */
  readonly load: () => Promise<Readonly<Record<string, unknown>>>;
};

function noun<Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<{ readonly [K in Name]: Verbs }>,
): Part {
  return { name, summary, load };
}

function verb<Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<{ readonly [K in Name]: Described }>,
  takes = '[options]',
): Part {
  return { name, summary, load, takes };
}

/** In the order of the help, below its headings. */
const groups: Readonly<Record<string, readonly Part[]>> = {
  'Often used:': [
    verb(
      'status',
      'whether all is well, and how it went lately',
      () => import('./commands/status.ts'),
    ),
    noun(
      'records',
      'enrichment records: browse, read, store',
      () => import('./commands/records.ts'),
    ),
    noun('exports', 'export jobs and their files', () => import('./commands/exports.ts')),
    noun(
      'dlq',
      'failed webhook deliveries: look, retry, discard',
      () => import('./commands/dlq.ts'),
    ),
    verb(
      'doctor',
      'what is wrong with the service, and what to do',
      () => import('./commands/doctor.ts'),
    ),
  ],
  'Records:': [
    noun(
      'analytics',
      'slices of records for analysis',
      () => import('./commands/analytics-export.ts'),
    ),
    noun(
      'schedules',
      'exports that are delivered by themselves',
      () => import('./commands/schedules.ts'),
    ),
    noun(
      'retention',
      'cold data: policies, moves, verification',
      () => import('./commands/retention.ts'),
    ),
  ],
  'Webhooks:': [
    noun('endpoints', 'where webhooks are sent', () => import('./commands/endpoints.ts')),
    noun('incidents', 'what webhooks report', () => import('./commands/incidents.ts')),
    noun(
      'deliveries',
      'webhook deliveries in every state',
      () => import('./commands/deliveries.ts'),
    ),
    verb(
      'listen',
      'receive webhooks here, and fail if told to',
      () => import('./commands/listen.ts'),
    ),
  ],
  'Operate:': [
    noun('jobs', 'jobs of all kinds: list, wait, cancel', () => import('./commands/jobs.ts')),
    verb('ps', 'the processes of the service', () => import('./commands/ps.ts')),
    noun('notify', 'who is told of what is wrong', () => import('./commands/notify.ts')),
    noun('tokens', 'access tokens', () => import('./commands/tokens.ts')),
    noun('audit', 'who did what, when and from where', () => import('./commands/audit.ts')),
    noun(
      'keys',
      'the keys that webhook secrets are encrypted with',
      () => import('./commands/keys.ts'),
    ),
    noun(
      'database',
      'the database itself: spread it over workers',
      () => import('./commands/database.ts'),
    ),
    verb(
      'backup',
      'back up database and cold data; verify backups',
      () => import('./commands/backup.ts'),
    ),
    verb(
      'restore',
      'restore a backup into an empty database, or try it',
      () => import('./commands/restore.ts'),
      '[options] <from>',
    ),
  ],
  'Server:': [
    verb('serve', 'run the service', () => import('./commands/serve.ts')),
    verb('demo', 'run the service with real data, to look at', () => import('./commands/demo.ts')),
    verb('drain', 'deliver what is due, and end', () => import('./commands/drain.ts')),
    verb('config', 'print the settings in force', () => import('./commands/config.ts')),
    verb(
      'version',
      'this release, and whether it can start on the database',
      () => import('./commands/version.ts'),
    ),
  ],
  'This command line:': [
    verb(
      'login',
      'store an access token for later commands',
      () => import('./commands/session.ts'),
    ),
    verb('logout', 'forget a stored access token', () => import('./commands/session.ts')),
    noun('profile', 'the services you have signed in to', () => import('./commands/profile.ts')),
    verb(
      'whoami',
      'say which token and which service are in use',
      () => import('./commands/session.ts'),
    ),
    verb(
      'completion',
      'print a completion script for bash, zsh or fish',
      () => import('./commands/completion.ts'),
      '<shell>',
    ),
    verb('__complete', '', () => import('./commands/completion.ts'), ''),
  ],
};

const parts = Object.values(groups).flat();

/**
 * Makes the tree of all commands, of which only those are filled that `words`, the command line, names: with all of
 * them, `--help` would take twice as long. `completion` reads the whole tree, and so may whoever gives no words.
 */
export async function createProgram(
  context: Context,
  { help, words }: { help: HelpOutput; words?: readonly string[] },
): Promise<Command> {
  const program = emptyProgram(context, help);
  const isWhole = words === undefined || words.includes('completion');
  for (const [heading, group] of Object.entries(groups)) {
    program.commandsGroup(heading);
    for (const { name, summary, takes, load } of group) {
      const command = addNoun(program, name, summary, { hidden: summary === '' });
      if (!isWhole && !words.includes(name)) continue;
      const described = (await load())[name];
      if (takes === undefined) addVerbs(command, context, described as Verbs);
      else fillVerb(command, context, described as Described);
    }
  }
  program.helpCommand('help [command]', 'tell more of a command');
  // Only now, so that the commands below do not inherit it.
  return program.configureHelp({ subcommandTerm });
}

function subcommandTerm(command: Command): string {
  const takes = parts.find(({ name }) => name === command.name())?.takes;
  return takes === undefined ? new Help().subcommandTerm(command) : `${command.name()} ${takes}`;
}

function emptyProgram(context: Context, help: HelpOutput): Command {
  return (
    new Command('svcctl')
      .usage('[--profile NAME] <command> [options]')
      .description(
        'Enrichment records, exports and incident webhooks: the service and its command line.',
      )
      .version(readRelease())
      .option('--profile <name>', 'profile to connect with, as written by svcctl login')
      // Options before the command are global: `analytics export` has an own option --profile.
      .enablePositionalOptions()
      .exitOverride()
      .configureOutput({
        ...help,
        // run.ts prints what was wrong, in our form.
        outputError: () => {},
        getOutHelpWidth: () => Math.min(context.io.stdout.columns ?? 100, 100),
        getErrHelpWidth: () => Math.min(context.io.stderr.columns ?? 100, 100),
        getOutHasColors: () => false,
        getErrHasColors: () => false,
      })
      .addHelpText('after', footer)
  );
}
