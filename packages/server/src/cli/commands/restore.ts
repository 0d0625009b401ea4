import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import { canAsk } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatInstant } from '../format.ts';
import { usage } from '../help.ts';
import { printObject } from '../output.ts';
import type { App } from '../own-app.ts';
import { createTable } from '../table.ts';
import { command, jsonOption } from '../verb.ts';
import {
  askPassphrase,
  databaseOption,
  describe,
  idOption,
  openTools,
  placeHelp,
  summaryFields,
} from './backup.ts';

type Restored = Awaited<ReturnType<App['restoreBackup']>>;

const fields = [
  ...summaryFields.filter((name) => name !== 'missing'),
  'objects_brought',
  'objects_missing',
  'objects_damaged',
  'tenants_left_out',
  'deliveries_open',
  'secret_key',
  'verification',
] as const satisfies readonly (keyof Restored)[];

export const restore = command({
  description:
    'Restores a backup into the empty database of the settings, puts its objects into their store, and verifies all of it. After a kill the same command goes on. With --drill it all happens in a scratch folder with a PostgreSQL of its own, which is removed again. The exit code is 1 when the verification finds anything.',
  argument: ['<from>', placeHelp],
  examples: [
    'svcctl restore /mnt/backups --drill',
    'SVC_DATA_DIR=/var/lib/svcctl svcctl restore /mnt/backups',
    "DATABASE_URL=postgresql://svcctl@db/svcctl svcctl restore 's3://backups/svcctl?region=eu-central-1' --adopt-store",
  ],
  options: [
    idOption,
    databaseOption,
    ['--drill', 'only try it, and touch nothing'],
    [
      '--adopt-store',
      'also put objects into a store that another database has used, and take it over: that database must be gone',
    ],
    [
      '--skip-damaged',
      'restore without the objects that are missing or damaged in the backup: their days cannot be read then; also without tenants whose keys are lost',
    ],
    jsonOption,
  ],
  answers: fields,
  async act(context, options, from) {
    const { drill = false, adoptStore = false, skipDamaged = false, json, ...which } = options;
    if (drill && adoptStore) {
      throw usage('A drill has a store of its own: give either --drill or --adopt-store.');
    }
    const { settings, app, tools, progress } = await openTools(context);
    const findPassphrase = async () => {
      if (settings.backupPassphrase !== undefined) return settings.backupPassphrase;
      if (drill || !canAsk(context)) return null;
      return askPassphrase(context, 'Passphrase of the secret key in the backup: ');
    };
    const asked = {
      ...which,
      from,
      isDrill: drill,
      isAdopting: adoptStore,
      skipsDamaged: skipDamaged,
      findPassphrase,
    };
    const done = await app.restoreBackup(tools, asked).finally(() => progress.clear());
    if (json !== undefined) await printObject(context, JSON.stringify(done), json);
    else await createTable(context, columns).write(done.verification.problems);
    const what = `${describe(done)} of ${done.id}, as of ${formatInstant(done.taken_at)}`;
    context.note(drill ? `The drill restored ${what}.` : `Restored ${what}.`);
    noteLacks(context, done, drill);
    const { state, problem_count: problems } = done.verification;
    if (state === 'completed' && problems === 0) {
      context.note('Verified: no difference.');
      return;
    }
    throw new AppError('verify_failed', {
      detail:
        state === 'completed'
          ? `It is restored, but the verification found ${numberOf(problems, 'difference')}.`
          : `It is restored, but could not be verified: ${done.verification.error ?? state}. Run svcctl retention verify.`,
    });
  },
});

function noteLacks(context: Context, done: Restored, isDrill: boolean): void {
  if (done.deliveries_open > 0 && !isDrill) {
    context.note(
      `The queue holds ${numberOf(done.deliveries_open, 'delivery', 'deliveries')}, which a service with the role drainer sends, also those that were sent since the backup. Leave that role out while the original is in use.`,
    );
  }
  if (done.objects_damaged.length > 0) {
    context.note(
      `Passed over ${numberOf(done.objects_damaged.length, 'object')}, missing or damaged in the backup. Put them back from elsewhere, or give them up: svcctl retention forget.`,
    );
  }
  if (done.tenants_left_out.length > 0) {
    context.note(
      `Left out of these ${numberOf(done.tenants_left_out.length, 'tenant')}, whose keys are gone: ${done.tenants_left_out.join(', ')}.`,
    );
  }
  if (done.objects_missing > 0) {
    context.note(
      `The store lacks ${numberOf(done.objects_missing, 'object')}, and is another database's: if that one is gone for good, begin anew with --adopt-store.`,
    );
  }
  if (done.secret_key === 'fits') return;
  context.note(
    isDrill
      ? 'The key of webhook secrets was not tried: give SVC_BACKUP_PASSPHRASE, if the backup has it.'
      : 'The key of webhook secrets is missing: put it into SVC_SECRET_KEY or the file secret-key before you start the service.',
  );
}

const { word } = columnsOf<Restored['verification']['problems'][number]>();

const columns = [
  word('KIND', 'kind'),
  word('TENANT', ({ tenant }) => tenant ?? ''),
  word('PROBLEM', 'message'),
];
