import { Command, Help } from 'commander';
import { readRelease } from '../config/release.ts';
import type { Context } from './context.ts';
import { addNoun, addVerbs, type Described, fillVerb, type Noun, type Verbs } from './verb.ts';

type HelpOutput = { writeOut(text: string): void; writeErr(text: string): void };

const footer = `
Where commands find the service, first found wins: SVC_URL and SVC_TOKEN; --profile or SVC_PROFILE;
the service of SVC_DATA_DIR; the default profile (svcctl login); the service of ./data. Which it is: svcctl profile show

Words of the same meaning are understood: list for ls, get for show, add for create, delete and remove for rm, and the
other way round; create and change where there is only set; --state for --status.

A busy service (429) is asked again up to three times when it says to wait five seconds or less; else the
error says when to try again.

Where the documents lie that messages name, such as docs/operations.md: svcctl version

Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 access, 5 unavailable, 6 conflict, 7 partly done,
130 interrupted.`;

/** Loads the file under commands/ that describes a noun, or a command that has none, under its name. */
const loaders = loading({
  analytics: () => import('./commands/analytics-export.ts'),
  apply: () => import('./commands/apply.ts'),
  approvals: () => import('./commands/approvals.ts'),
  audit: () => import('./commands/audit.ts'),
  backup: () => import('./commands/backup.ts'),
  completion: () => import('./commands/completion.ts'),
  config: () => import('./commands/config.ts'),
  database: () => import('./commands/database.ts'),
  deliveries: () => import('./commands/deliveries.ts'),
  demo: () => import('./commands/demo.ts'),
  dlq: () => import('./commands/dlq.ts'),
  doctor: () => import('./commands/doctor.ts'),
  drain: () => import('./commands/drain.ts'),
  endpoints: () => import('./commands/endpoints.ts'),
  'event-types': async () => ({
    'event-types': (await import('./commands/event-types.ts')).eventTypes,
  }),
  'export-config': async () => ({
    'export-config': (await import('./commands/apply.ts')).exportConfig,
  }),
  exports: () => import('./commands/exports.ts'),
  incidents: () => import('./commands/incidents.ts'),
  jobs: () => import('./commands/jobs.ts'),
  keys: () => import('./commands/keys.ts'),
  listen: () => import('./listen/listen.ts'),
  login: () => import('./commands/session.ts'),
  logout: () => import('./commands/session.ts'),
  migrate: () => import('./commands/migrate.ts'),
  notify: () => import('./commands/notify.ts'),
  portal: () => import('./commands/portal.ts'),
  profile: () => import('./commands/profile.ts'),
  ps: () => import('./commands/ps.ts'),
  records: () => import('./commands/records.ts'),
  restore: () => import('./commands/restore.ts'),
  retention: () => import('./commands/retention.ts'),
  schedules: () => import('./commands/schedules.ts'),
  serve: () => import('./commands/serve.ts'),
  status: () => import('./commands/status.ts'),
  tokens: () => import('./commands/tokens.ts'),
  version: () => import('./commands/version.ts'),
  views: () => import('./commands/views.ts'),
  webhooks: () => import('./commands/webhooks.ts'),
  whoami: () => import('./commands/session.ts'),
  __complete: () => import('./commands/completion.ts'),
});
type Name = keyof typeof loaders;

/** Sees to it that each file describes what it is loaded for. */
function loading<
  L extends { [N in keyof L]: () => Promise<{ readonly [K in N]: Verbs | Described }> },
>(all: L): L {
  return all;
}

/**
 * In the order of the help, below its headings: each with what may follow its name, and what the help says of it. Nothing
 * follows a noun.
 */
const groups = {
  'Often used:': {
    'status [options]': 'whether all is well, and how it went lately',
    records: 'enrichment records: browse, read, store',
    exports: 'export jobs and their files',
    dlq: 'failed webhook deliveries: look, retry, discard',
    'doctor [options]': 'what is wrong with the service, and what to do',
  },
  'Records:': {
    analytics: 'slices of records for analysis',
    schedules: 'exports that are delivered by themselves',
    retention: 'cold data: policies, moves, verification',
  },
  'Webhooks:': {
    endpoints: 'where webhooks are sent',
    'event-types': 'the catalogue of what may be reported',
    incidents: 'what webhooks report',
    deliveries: 'webhook deliveries in every state',
    'listen [options]': 'receive webhooks here, and fail if told to',
    portal: 'links by which tenants see their webhooks',
    webhooks: 'endpoints of another service, taken over',
  },
  'Operate:': {
    'apply [options] <file>': 'make the service as files say, after a look at the difference',
    'export-config': 'print the service as such a file',
    jobs: 'jobs of all kinds: list, wait, cancel',
    'ps [options]': 'the processes of the service',
    notify: 'who is told of what is wrong',
    tokens: 'access tokens',
    approvals: 'what somebody else must confirm',
    audit: 'who did what, when and from where',
    views: 'pages of the console that were saved under a name',
    keys: 'the keys that webhook secrets are encrypted with',
    database: 'the database itself: spread it over workers',
    'backup [options]': 'back up database and cold data; verify backups',
    'restore [options] <from>': 'restore a backup into an empty database, or try it',
  },
  'Server:': {
    'serve [options]': 'run the service',
    'demo [options]': 'run the service with real data, to look at',
    'drain [options]': 'deliver what is due, and end',
    'config [options]': 'print the settings in force',
    migrate: 'bring the database to this release, and end',
    'version [options]': 'this release, and whether it can start on the database',
  },
  'This command line:': {
    'login [options]': 'store an access token for later commands',
    'logout [options]': 'forget a stored access token',
    profile: 'the services you have signed in to',
    'whoami [options]': 'say which token and which service are in use',
    'completion <shell>': 'print a completion script for bash, zsh or fish',
    __complete: '',
  },
} satisfies Record<string, { [T in Name | `${Name} ${string}`]?: string }>;
const terms = new Map(
  Object.values(groups).flatMap((group) => Object.keys(group).map((term) => [nameOf(term), term])),
);

function nameOf(term: string): Name {
  return term.replace(/ .*/, '') as Name;
}

/**
 * Makes the tree of all commands, of which only those are filled that `words`, the command line, names: with all of
 * them, `--help` would take twice as long. Without words the whole tree is.
 */
export async function createProgram(
  context: Context,
  { help, words }: { help: HelpOutput; words?: readonly string[] },
): Promise<Command> {
  const program = emptyProgram(context, help);
  for (const [heading, group] of Object.entries(groups)) {
    program.commandsGroup(heading);
    for (const [term, summary] of Object.entries(group)) {
      const name = nameOf(term);
      const made = addNoun(program, name, summary, { hidden: summary === '' });
      if (words?.includes(name) === false) continue;
      const found = await load(name);
      if ('act' in found) fillVerb(made, context, found);
      else addVerbs(made, context, found.verbs);
    }
  }
  program.helpCommand('help [command]', 'tell more of a command');
  // Only now, so that the commands below do not inherit it.
  return program.configureHelp({ subcommandTerm });
}

/** What describes the command of these words; undefined where they name none, or a noun. */
export async function describedAt([name = '', ...verbs]: readonly string[]): Promise<
  Described | undefined
> {
  if (!Object.hasOwn(loaders, name)) return undefined;
  let found: Described | Pick<Noun, 'verbs'> | undefined = await load(name as Name);
  for (const verb of verbs) found = found?.verbs?.[verb];
  return found !== undefined && 'act' in found ? found : undefined;
}

async function load(name: Name): Promise<Described | Pick<Noun, 'verbs'>> {
  const file: Readonly<Record<string, unknown>> = await loaders[name]();
  const found = file[name] as Described | Verbs;
  return typeof found.act === 'function' ? (found as Described) : { verbs: found as Verbs };
}

function subcommandTerm(command: Command): string {
  return terms.get(command.name() as Name) ?? new Help().subcommandTerm(command);
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
