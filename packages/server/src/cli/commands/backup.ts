import { readRelease } from '../../config/release.ts';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import { askSecret, canAsk } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatBytes } from '../format.ts';
import { usage, wholeNumber } from '../help.ts';
import { printObject, printRows } from '../output.ts';
import { type App, openApp, openMadeApp } from '../own-app.ts';
import { createProgress, type Progress } from '../progress.ts';
import { createTable } from '../table.ts';
import { command, jsonOption, verb } from '../verb.ts';

type BackupTools = Parameters<App['backUp']>[0];
type BackupSummary = Awaited<ReturnType<App['listPlace']>>[number];
type BackupReport = Awaited<ReturnType<App['verifyBackup']>>['report'];

export const placeHelp = 'a folder, or s3://bucket/prefix?endpoint=…&region=…';
const leastPassphrase = 12;

export const summaryFields = [
  'id',
  'database',
  'place',
  'taken_at',
  'release',
  'records',
  'objects',
  'size_bytes',
  'audit_head',
  'has_secret_key',
  'missing',
] as const satisfies readonly (keyof BackupSummary)[];

/** So many objects that a backup lacks are named. */
const toldMissing = 100;

export const idOption = ['--id <id>', 'which backup; the newest unless given'] as const;
export const databaseOption = [
  '--database <id>',
  'the newest of this database, where there are several',
] as const;

const verify = verb({
  summary: 'read a backup back, and prove it',
  description:
    'Reads everything that a backup needs, compares it with its SHA-256, and computes count, bytes and digest of its records anew. It needs no service and no database. The exit code is 1 on any difference.',
  argument: ['<from>', placeHelp],
  examples: [
    'svcctl backup verify /mnt/backups',
    'svcctl backup verify /mnt/backups --id 20260305T140709123Z-9fK2',
  ],
  options: [idOption, databaseOption, jsonOption],
  answers: [...summaryFields, 'report'],
  async act(context, { json, ...which }, from) {
    const { app, tools, progress } = await openTools(context);
    const found = await app.verifyBackup(tools, { from, ...which }).finally(() => progress.clear());
    if (json !== undefined) await printObject(context, JSON.stringify(found), json);
    else await createTable(context, problemColumns).write(found.report.problems);
    assertRight(context, found.report);
  },
});

const ls = verb({
  summary: 'list the backups in a place, the newest first',
  description:
    'Lists the whole backups in a place, the newest first, and whose they are, if of several databases.',
  argument: ['<from>', placeHelp],
  examples: ['svcctl backup ls /mnt/backups'],
  options: [jsonOption],
  answers: summaryFields,
  async act(context, { json }, from) {
    const { app, tools } = await openTools(context);
    const found = await app.listPlace(tools, from);
    const areSeveral = new Set(found.map(({ database }) => database)).size > 1;
    const columns = [
      word('ID', 'id'),
      ...(areSeveral ? [word('DATABASE', 'database')] : []),
      instant('TAKEN AT', 'taken_at'),
      word('RECORDS', 'records', { shown: (row) => formatCount(row.records) }),
      word('SIZE', 'size_bytes', { shown: (row) => formatBytes(row.size_bytes) }),
      word('KEY', (row) => (row.has_secret_key ? 'yes' : 'no')),
    ];
    await printRows(context, found, { columns, json });
  },
});

const { word, instant } = columnsOf<BackupSummary>();

/** What the commands about backups need of this process. */
export async function openTools(context: Context, open = openApp) {
  const { io } = context;
  const { settings, app, log } = await open(context);
  const progress = createSteps(context);
  const tools: BackupTools = {
    settings,
    log,
    signal: io.signal,
    cwd: io.cwd,
    release: readRelease(),
    onStep: (step) => progress.show(step),
    onWarning: (text) => context.note(text),
  };
  return { settings, app, tools, progress };
}

type ShownStep = Parameters<BackupTools['onStep']>[0];

/** A bar for each step; the next one takes the place of the one before. */
function createSteps(context: Context): { show(step: ShownStep): void; clear(): void } {
  let bar: { name: string; progress: Progress } | undefined;
  return {
    show(step) {
      if (bar?.name !== step.name) {
        bar?.progress.clear();
        const describe = (done: number) =>
          step.name === 'verification'
            ? `${formatBytes(done)} of ${formatBytes(step.total)}`
            : `${formatCount(done)} of ${numberOf(step.total, step.name.replace(/s$/, ''))}`;
        const speed = (perSecond: number) => `${formatCount(perSecond)} rows/s`;
        const options = { label: step.name, total: step.total, describe };
        bar = {
          name: step.name,
          progress: createProgress(
            context.io,
            step.name === 'records' ? { ...options, speed } : options,
          ),
        };
      }
      bar.progress.update(step.done, step.bytes);
    },
    clear: () => bar?.progress.clear(),
  };
}

export function describe({
  records,
  objects,
  size_bytes,
}: Pick<BackupSummary, 'records' | 'objects' | 'size_bytes'>): string {
  return `${numberOf(records, 'record')} and ${numberOf(objects, 'object')} (${formatBytes(size_bytes)})`;
}

const problem = columnsOf<BackupReport['problems'][number]>();
const problemColumns = [
  problem.word('KIND', 'kind'),
  problem.word('KEY', 'key'),
  problem.word('PROBLEM', 'message'),
];

function assertRight(context: Context, report: BackupReport): void {
  if (report.problem_count > 0) {
    throw new AppError('verify_failed', {
      detail: `${numberOf(report.problem_count, 'problem')}: this backup cannot be restored as it was. Make another one, and look at the disk.`,
    });
  }
  const { hot, cold, files, objects, tenants_unread: unread } = report;
  if (unread.length > 0) {
    context.note(
      `Of ${numberOf(unread.length, 'tenant')} only by SHA-256, as the keys are not here: ${unread.join(', ')}.`,
    );
  }
  context.note(
    `Right: ${numberOf(hot.count, 'hot record')} and ${formatCount(cold.count)} cold ones, by count, bytes and digest; ${numberOf(files, 'file')} and ${numberOf(objects, 'object')} by SHA-256.`,
  );
}

/** Takes the passphrase from the setting, or asks for it twice. Throws `usage_invalid`. */
async function newPassphrase(context: Context, given: string | undefined): Promise<string> {
  const passphrase = given ?? (await askPassphrase(context, 'Passphrase for the secret key: '));
  if (passphrase.length < leastPassphrase) {
    throw usage(
      `The passphrase has ${passphrase.length} characters; it takes ${leastPassphrase} or more.`,
    );
  }
  if (given === undefined && (await askSecret(context, 'Once more: ')) !== passphrase) {
    throw usage('The two passphrases differ.');
  }
  return passphrase;
}

export async function askPassphrase(context: Context, question: string): Promise<string> {
  if (canAsk(context)) return askSecret(context, question);
  throw usage(
    'There is no terminal to ask for the passphrase at: give it in SVC_BACKUP_PASSPHRASE.',
  );
}

export const backup = command({
  description:
    'Writes a backup of the database of the settings and of its cold data, all as it was at one moment, while the service goes on. Its backups in one place share what they have in common. The same command goes on with what a killed one has left.',
  examples: [
    'svcctl backup --out /mnt/backups --incremental --keep 30',
    "svcctl backup --out 's3://backups/svcctl?region=eu-central-1' --with-key --verify",
  ],
  options: [
    ['--out <place>', `where backups lie: ${placeHelp} (required)`],
    ['--incremental', 'take from its newest backup there what has not changed, unread'],
    [
      '--with-key',
      'also the key of webhook secrets, under a passphrase: SVC_BACKUP_PASSPHRASE, or asked',
    ],
    ['--verify', 'read the backup back at the end'],
    [
      '--keep <n>',
      'remove all but the newest n backups of this database there, and what only they need',
      wholeNumber(1),
    ],
    [
      '--allow-missing',
      'save the rest where objects of cold data are missing or damaged, name them, and end with exit code 7',
    ],
    jsonOption,
  ],
  answers: [...summaryFields, 'new_bytes', 'removed', 'report'],
  async act(context, options) {
    const { out, incremental: isIncremental = false, withKey, keep = null, json } = options;
    const { verify: isVerified = false, allowMissing: allowsMissing = false } = options;
    const { settings, app, tools, progress } = await openTools(context, openMadeApp);
    const passphrase = withKey ? await newPassphrase(context, settings.backupPassphrase) : null;
    const made = await app
      .backUp(tools, { out, isIncremental, passphrase, isVerified, keep, allowsMissing })
      .finally(() => progress.clear());
    const { report, ...summary } = made;
    const printed = report === null ? summary : made;
    if (json !== undefined) await printObject(context, JSON.stringify(printed), json);
    else await context.out.write(`${summary.id}\n`);
    context.note(
      `Backed up ${describe(summary)} to ${summary.place}; ${formatBytes(summary.new_bytes)} are new.`,
    );
    if (made.removed > 0) context.note(`Removed ${numberOf(made.removed, 'older backup')}.`);
    if (settings.secretKey === undefined && !withKey) {
      context.note(
        'The secret key is not in it: keep the file secret-key elsewhere, or use --with-key.',
      );
    }
    for (const key of summary.missing.slice(0, toldMissing)) context.note(`Missing: ${key}`);
    if (report !== null && summary.missing.length === 0) assertRight(context, report);
    if (summary.missing.length > 0) {
      throw new AppError('backup_incomplete', {
        detail: `The backup lacks ${numberOf(summary.missing.length, 'object')}, whose days cannot be read after a restore. Put them back, or give them up: svcctl retention forget.`,
      });
    }
  },
  verbs: { verify, ls },
});
