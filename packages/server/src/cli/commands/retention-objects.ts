import type { Command } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import type { RouteAnswer } from '../client.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatNumberOf } from '../format.ts';
import { withExamples } from '../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp, printObject } from '../output.ts';

type Forgotten = RouteAnswer<'POST /retention/forget'>;

const forgottenFields = [
  'id',
  'dry_run',
  'tenant',
  'object_key',
  'problem',
  'lost',
  'days',
  'versions_changed',
] as const satisfies readonly (keyof Forgotten)[];

type ForgetOptions = { dryRun?: true; yes?: true; json?: true };

export function addRetentionForget(retention: Command, context: Context): void {
  const command = retention
    .command('forget')
    .summary('give up cold data whose object is lost')
    .description(
      'Takes a segment whose object is missing or damaged out of the catalogue, and what it held out of the counters. First it tells what of which days is lost, and asks for the tenant’s name. Where a backup has the object, put it back under its key instead.',
    )
    .argument('<key>', 'the key of the object, as svcctl retention verify names it')
    .option('--dry-run', 'only tell what is lost')
    .option('--yes', 'do not ask')
    .option('--json', 'print what is lost as JSON')
    .action((key: string, options: ForgetOptions) => forget(context, key, options));
  withExamples(command, [
    'svcctl retention forget records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet',
    'svcctl retention forget records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet --dry-run --json',
  ]);
}

async function forget(context: Context, key: string, options: ForgetOptions): Promise<void> {
  const { dryRun, yes, json } = options;
  if (!dryRun && !yes) assertCanAsk(context, 'Forget');
  const client = await context.connect();
  const post = (isDry: boolean) =>
    client.json('POST /retention/forget', { body: { object_key: key, dry_run: isDry } });
  if (!dryRun && !yes) {
    const { tenant, problem, lost, versions_changed: versions } = await post(true);
    context.note(`${problem}.`);
    if (versions > 0) context.note(`${formatNumberOf(versions, 'dataset version')} lost records.`);
    await confirm(context, undefined, {
      question: `Give up ${formatNumberOf(lost.count, 'record')} of ${tenant}?`,
      name: tenant,
      act: 'Forget',
      refused: 'Nothing was changed.',
    });
  }
  const done = await post(dryRun === true);
  if (json) await printObject(context, JSON.stringify(done), { json, fields: forgottenFields });
  else await printDays(context, done, 'LOST');
  const count = formatNumberOf(done.lost.count, 'record');
  if (done.dry_run) context.note(`${count} of ${done.tenant} would be given up.`);
  else context.note(`${count} of ${done.tenant} are lost: ${done.id} in the journal of moves.`);
}

type Adopted = RouteAnswer<'POST /retention/orphans/adopt'>;

const adoptedFields = [
  'dry_run',
  'tenant',
  'object_key',
  'adopted',
  'days',
] as const satisfies readonly (keyof Adopted)[];

export function addOrphansAdopt(orphans: Command, context: Context): void {
  const command = orphans
    .command('adopt')
    .summary('take back a segment that nobody knows')
    .description(
      'Reads the object, proves that it is a whole segment of one tenant, and puts it into the catalogue and into the counters. It is refused where the database has records of one of its days already, or a dataset version of them. What was deleted or erased since it was written comes back with it: look at the days first.',
    )
    .argument('<key>', 'as svcctl retention orphans ls names it')
    .option('--dry-run', 'only tell what would come back')
    .option('--yes', 'do not ask')
    .option('--json', 'print what came back as JSON')
    .action((key: string, options: ForgetOptions) => adopt(context, key, options));
  withExamples(command, [
    'svcctl retention orphans adopt records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet',
  ]);
}

async function adopt(context: Context, key: string, options: ForgetOptions): Promise<void> {
  const { dryRun, yes, json } = options;
  if (!dryRun && !yes) assertCanAsk(context, 'Adopt');
  const client = await context.connect();
  const post = (isDry: boolean) =>
    client.json('POST /retention/orphans/adopt', { body: { object_key: key, dry_run: isDry } });
  if (!dryRun && !yes) {
    const { tenant, adopted } = await post(true);
    await confirm(context, undefined, {
      question: `Take back ${formatNumberOf(adopted.count, 'record')} of ${tenant}?`,
      act: 'Adopt',
      refused: 'Nothing was changed.',
    });
  }
  const done = await post(dryRun === true);
  if (json) await printObject(context, JSON.stringify(done), { json, fields: adoptedFields });
  else await printDays(context, done, 'RECORDS');
  const count = formatNumberOf(done.adopted.count, 'record');
  context.note(
    done.dry_run
      ? `${count} of ${done.tenant} would come back.`
      : `${count} of ${done.tenant} came back.`,
  );
}

type Orphan = RouteAnswer<'GET /retention/orphans'>['data'][number];

const orphanFields = [
  'object_key',
  'tenant',
  'first_day',
  'last_day',
  'size_bytes',
  'written_at',
] as const satisfies readonly (keyof Orphan)[];

export function addOrphansLs(orphans: Command, context: Context): void {
  const command = orphans
    .command('ls')
    .summary('list the objects of the store that nobody knows')
    .description(
      'Lists the objects of the store that nobody knows and that are older than SVC_COLD_GRACE_SECONDS, the first 1,000: such as a database has left that was set back or is gone.',
    )
    .option(jsonFlags, jsonHelp)
    .action((options: { json?: JsonOption }) => listOrphans(context, options));
  withExamples(command, ['svcctl retention orphans ls']);
}

async function listOrphans(context: Context, { json }: { json?: JsonOption }): Promise<void> {
  const client = await context.connect();
  const { data } = await client.json('GET /retention/orphans', {});
  const printer = createRowPrinter<Orphan>(context, {
    fields: orphanFields,
    json,
    columns: [
      { title: 'KEY', isElastic: true, value: (row) => row.object_key },
      { title: 'WRITTEN (UTC)', value: (row) => row.written_at },
      {
        title: 'SIZE',
        align: 'right',
        value: (row) => String(row.size_bytes),
        shown: (row) => formatBytes(row.size_bytes),
      },
    ],
  });
  await printer.write(data.map((row) => JSON.stringify(row)));
  await printer.end();
}

export function addOrphansRm(orphans: Command, context: Context): void {
  const command = orphans
    .command('rm')
    .summary('remove objects of the store that nobody knows')
    .description(
      'Removes these objects for good, as far as nobody knows them and they are older than SVC_COLD_GRACE_SECONDS. Keep them while the database may be restored to another moment.',
    )
    .argument('<key...>', 'as svcctl retention orphans ls names them')
    .option('--yes', 'do not ask')
    .action((keys: string[], options: { yes?: true }) => removeOrphans(context, keys, options));
  withExamples(command, [
    'svcctl retention orphans rm records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet',
  ]);
}

async function removeOrphans(
  context: Context,
  keys: readonly string[],
  { yes }: { yes?: true },
): Promise<void> {
  const all = formatNumberOf(keys.length, 'object');
  const client = await context.connect();
  await confirm(context, yes, {
    question: `Remove ${all} for good?`,
    act: 'Remove',
    refused: 'Nothing was removed.',
  });
  const object_keys = [...keys];
  const { removed } = await client.json('POST /retention/orphans/remove', {
    body: { object_keys },
  });
  context.note(`Removed ${formatNumberOf(removed.length, 'object')}.`);
  if (removed.length === keys.length) return;
  throw new AppError('partly_done', {
    detail: `Of ${all} ${removed.length} were removed: the others are known, younger than SVC_COLD_GRACE_SECONDS, or not there.`,
  });
}

async function printDays(
  context: Context,
  { days }: Pick<Forgotten, 'days'>,
  title: string,
): Promise<void> {
  const printer = createRowPrinter<Forgotten['days'][number]>(context, {
    fields: ['store', 'day', 'count'],
    json: undefined,
    columns: [
      { title: 'STORE', isElastic: true, value: (row) => row.store },
      { title: 'DAY (UTC)', value: (row) => row.day },
      { title, align: 'right', value: (row) => String(row.count) },
    ],
  });
  await printer.write(days.map((row) => JSON.stringify(row)));
  await printer.end();
}
