import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { list } from '../list.ts';
import { printJson } from '../output.ts';
import { createTable } from '../table.ts';
import { type Noun, verb, yesOption } from '../verb.ts';

type Forgotten = RouteAnswer<'POST /retention/forget'>;
export const forget = verb({
  summary: 'give up cold data whose object is lost',
  description:
    'Takes a segment whose object is missing or damaged out of the catalogue, and what it held out of the counters. First it tells what of which days is lost, and asks for the tenant’s name. Where a backup has the object, put it back under its key instead.',
  argument: ['<key>', 'the key of the object, as svcctl retention verify names it'],
  examples: [
    'svcctl retention forget records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet',
    'svcctl retention forget records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet --dry-run --json',
  ],
  options: [
    ['--dry-run', 'only tell what is lost'],
    yesOption,
    ['--json', 'print what is lost as JSON'],
  ],
  async act(context, options, key) {
    const { dryRun, yes, json } = options;
    if (!dryRun && !yes) assertCanAsk(context, 'Forget');
    const client = await context.connect();
    const post = (isDry: boolean) =>
      client.json('POST /retention/forget', { body: { object_key: key, dry_run: isDry } });
    if (!dryRun && !yes) {
      const { tenant, problem, lost, versions_changed: versions } = await post(true);
      context.note(`${problem}.`);
      if (versions > 0) context.note(`${numberOf(versions, 'dataset version')} lost records.`);
      await confirm(context, undefined, {
        question: `Give up ${numberOf(lost.count, 'record')} of ${tenant}?`,
        name: tenant,
        act: 'Forget',
        refused: 'Nothing was changed.',
      });
    }
    const done = await post(dryRun === true);
    if (json) await printJson(context, done);
    else await printDays(context, done, 'LOST');
    const count = numberOf(done.lost.count, 'record');
    if (done.dry_run) context.note(`${count} of ${done.tenant} would be given up.`);
    else context.note(`${count} of ${done.tenant} are lost: ${done.id} in the journal of moves.`);
  },
});

const adopt = verb({
  summary: 'take back a segment that nobody knows',
  description:
    'Reads the object, proves that it is a whole segment of one tenant, and puts it into the catalogue and into the counters. It is refused where the database has records of one of its days already, or a dataset version of them. What was deleted or erased since it was written comes back with it: look at the days first.',
  argument: ['<key>', 'as svcctl retention orphans ls names it'],
  examples: [
    'svcctl retention orphans adopt records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet',
  ],
  options: [
    ['--dry-run', 'only tell what would come back'],
    yesOption,
    ['--json', 'print what came back as JSON'],
  ],
  async act(context, options, key) {
    const { dryRun, yes, json } = options;
    if (!dryRun && !yes) assertCanAsk(context, 'Adopt');
    const client = await context.connect();
    const post = (isDry: boolean) =>
      client.json('POST /retention/orphans/adopt', { body: { object_key: key, dry_run: isDry } });
    if (!dryRun && !yes) {
      const { tenant, adopted } = await post(true);
      await confirm(context, undefined, {
        question: `Take back ${numberOf(adopted.count, 'record')} of ${tenant}?`,
        act: 'Adopt',
        refused: 'Nothing was changed.',
      });
    }
    const done = await post(dryRun === true);
    if (json) await printJson(context, done);
    else await printDays(context, done, 'RECORDS');
    const count = numberOf(done.adopted.count, 'record');
    context.note(
      done.dry_run
        ? `${count} of ${done.tenant} would come back.`
        : `${count} of ${done.tenant} came back.`,
    );
  },
});

const { word, text, bytes } = columnsOf<RouteAnswer<'GET /retention/orphans'>['data'][number]>();

const ls = list('GET /retention/orphans', {
  summary: 'list the objects of the store that nobody knows',
  description:
    'Lists the objects of the store that nobody knows and that are older than SVC_COLD_GRACE_SECONDS, the first 1,000: such as a database has left that was set back or is gone.',
  examples: ['svcctl retention orphans ls'],
  columns: [
    text('KEY', 'object_key'),
    word('WRITTEN (UTC)', 'written_at'),
    bytes('SIZE', 'size_bytes'),
  ],
  below: { one: 'object' },
});

const rm = verb({
  summary: 'remove objects of the store that nobody knows',
  description:
    'Removes these objects for good, as far as nobody knows them and they are older than SVC_COLD_GRACE_SECONDS. Keep them while the database may be restored to another moment.',
  argument: ['<key...>', 'as svcctl retention orphans ls names them'],
  examples: [
    'svcctl retention orphans rm records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet',
  ],
  options: [yesOption],
  async act(context, { yes }, keys) {
    const all = numberOf(keys.length, 'object');
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
    context.note(`Removed ${numberOf(removed.length, 'object')}.`);
    if (removed.length === keys.length) return;
    throw new AppError('partly_done', {
      detail: `Of ${all} ${removed.length} were removed: the others are known, younger than SVC_COLD_GRACE_SECONDS, or not there.`,
    });
  },
});

async function printDays(
  context: Context,
  { days }: Pick<Forgotten, 'days'>,
  title: string,
): Promise<void> {
  const { text, word } = columnsOf<Forgotten['days'][number]>();
  const columns = [
    text('STORE', 'store'),
    word('DAY (UTC)', 'day'),
    word(title, 'count', { align: 'right' }),
  ];
  await createTable(context, columns).write(days);
}

export const orphans: Noun = {
  summary: 'objects of the store that nobody knows',
  verbs: { ls, adopt, rm },
};
