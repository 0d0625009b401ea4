import { Command, Help } from 'commander';
import { readRelease } from '../config/release.ts';
import type { Context } from './context.ts';
import { addNoun, addVerbs, fillVerb, type Verb, type Verbs } from './verb.ts';

export type HelpOutput = { writeOut(text: string): void; writeErr(text: string): void };

const footer = `
Where commands find the service, first found wins: SVC_URL and SVC_TOKEN; --profile or SVC_PROFILE;
the service of SVC_DATA_DIR; the default profile (svcctl login); the service of ./data.

A busy service (429) is asked again up to three times when it says to wait five seconds or less; else the
error says when to try again.

Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 access, 5 unavailable, 6 conflict, 7 partly done,
130 interrupted.`;

/** A noun, or a command that has none, with what the help of the program says of it. */
type Part = {
  name: string;
  summary: string;
  /** What follows the name of a command in the help of the program. */
  takes?: '[options]' | '[options] <from>' | '<shell>';
  /** The verbs of a noun, or the command itself. */
  verbs?: () => Promise<Verbs>;
  verb?: () => Promise<Omit<Verb, 'summary'>>;
  /** Adds what is no description: the verbs of a noun, or the options and the action of a command. */
  fill?: (command: Command, context: Context, program: Command) => Promise<void>;
  isHidden?: true;
};

/** In the order of the help. A file under commands/ holds the commands of one noun. */
const parts: readonly Part[] = [
  {
    name: 'status',
    summary: 'whether all is well, and how it went lately',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/status.ts')).fillStatus(command, context);
    },
  },
  {
    name: 'ps',
    summary: 'the processes of the service',
    takes: '[options]',
    verb: async () => (await import('./commands/ps.ts')).ps,
  },
  {
    name: 'doctor',
    summary: 'what is wrong with the service, and what to do',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/doctor.ts')).fillDoctor(command, context);
    },
  },
  {
    name: 'records',
    summary: 'enrichment records: browse, read, store',
    async fill(records, context) {
      const reading = await import('./commands/records.ts');
      reading.addRecordsLs(records, context);
      reading.addRecordsShow(records, context);
      (await import('./commands/records-ingest.ts')).addRecordsIngest(records, context);
      (await import('./commands/records-erase.ts')).addRecordsErase(records, context);
      (await import('./commands/records-recount.ts')).addRecordsRecount(records, context);
      const { tags } = await import('./commands/tags.ts');
      const { versions } = await import('./commands/versions.ts');
      addVerbs(records, context, { tags, versions });
    },
  },
  {
    name: 'analytics',
    summary: 'slices of records for analysis',
    async fill(analytics, context) {
      (await import('./commands/analytics-export.ts')).addExport(analytics, context);
    },
  },
  {
    name: 'exports',
    summary: 'export jobs and their files',
    async fill(exports, context) {
      (await import('./commands/exports.ts')).fillExports(exports, context);
    },
  },
  {
    name: 'retention',
    summary: 'cold data: policies, moves, verification',
    verbs: async () => (await import('./commands/retention.ts')).retention,
  },
  {
    name: 'dlq',
    summary: 'failed webhook deliveries: look, retry, discard',
    verbs: async () => (await import('./commands/dlq.ts')).dlq,
  },
  {
    name: 'endpoints',
    summary: 'where webhooks are sent',
    verbs: async () => (await import('./commands/endpoints.ts')).endpoints,
  },
  {
    name: 'incidents',
    summary: 'what webhooks report',
    verbs: async () => (await import('./commands/incidents.ts')).incidents,
  },
  {
    name: 'deliveries',
    summary: 'webhook deliveries in every state',
    verbs: async () => (await import('./commands/deliveries.ts')).deliveries,
  },
  {
    name: 'notify',
    summary: 'who is told of what is wrong',
    verbs: async () => (await import('./commands/notify.ts')).notify,
  },
  {
    name: 'tokens',
    summary: 'access tokens',
    verbs: async () => (await import('./commands/tokens.ts')).tokens,
  },
  {
    name: 'audit',
    summary: 'who did what, when and from where',
    verbs: async () => (await import('./commands/audit.ts')).audit,
  },
  {
    name: 'database',
    summary: 'the database itself: spread it over workers',
    async fill(database, context) {
      (await import('./commands/database.ts')).addDatabaseDistribute(database, context);
    },
  },
  {
    name: 'keys',
    summary: 'the keys that webhook secrets are encrypted with',
    verbs: async () => (await import('./commands/keys.ts')).keys,
  },
  {
    name: 'backup',
    summary: 'back up database and cold data; verify backups',
    takes: '[options]',
    async fill(backup, context, program) {
      const verbs = await import('./commands/backup.ts');
      const release = program.version() ?? '';
      verbs.fillBackup(backup, context, release);
      verbs.addBackupVerify(backup, context, release);
      verbs.addBackupLs(backup, context, release);
    },
  },
  {
    name: 'restore',
    summary: 'restore a backup into an empty database, or try it',
    takes: '[options] <from>',
    async fill(command, context, program) {
      const { fillRestore } = await import('./commands/restore.ts');
      fillRestore(command, context, program.version() ?? '');
    },
  },
  {
    name: 'serve',
    summary: 'run the service',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/serve.ts')).fillServe(command, context);
    },
  },
  {
    name: 'demo',
    summary: 'run the service with real data, to look at',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/demo.ts')).fillDemo(command, context);
    },
  },
  {
    name: 'drain',
    summary: 'deliver what is due, and end',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/drain.ts')).fillDrain(command, context);
    },
  },
  {
    name: 'listen',
    summary: 'receive webhooks here, and fail if told to',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/listen.ts')).fillListen(command, context);
    },
  },
  {
    name: 'login',
    summary: 'store an access token for later commands',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/session.ts')).fillLogin(command, context);
    },
  },
  {
    name: 'logout',
    summary: 'forget a stored access token',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/session.ts')).fillLogout(command, context);
    },
  },
  {
    name: 'whoami',
    summary: 'say which token and which service are in use',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/session.ts')).fillWhoami(command, context);
    },
  },
  {
    name: 'config',
    summary: 'print the settings in force',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/config.ts')).fillConfig(command, context);
    },
  },
  {
    name: 'version',
    summary: 'this release, and whether it can start on the database',
    takes: '[options]',
    async fill(command, context) {
      (await import('./commands/version.ts')).fillVersion(command, context);
    },
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    takes: '<shell>',
    async fill(command, context, program) {
      (await import('./commands/completion.ts')).fillCompletion(command, context, program);
    },
  },
  {
    name: '__complete',
    summary: '',
    isHidden: true,
    async fill(command, context) {
      (await import('./commands/completion.ts')).fillComplete(command, context);
    },
  },
];

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
  for (const { name, summary, verbs, verb, fill, isHidden = false } of parts) {
    const command = addNoun(program, name, summary, { hidden: isHidden });
    if (!isWhole && !words.includes(name)) continue;
    if (verbs !== undefined) addVerbs(command, context, await verbs());
    if (verb !== undefined) fillVerb(command, context, await verb());
    await fill?.(command, context, program);
  }
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
