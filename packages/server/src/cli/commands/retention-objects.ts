import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import { list } from '../list.ts';
import { type Noun, verb, yesOption } from '../verb.ts';

type Forgotten = RouteAnswer<'POST /retention/forget'>;
export const forget = call('POST /retention/forget', {
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
    ['--json', 'print what is lost as JSON'],
  ],
  body: (_options, _context, object_key) => ({ object_key }),
  asks: {
    foresee: ({ problem, versions_changed: versions }) => [
      `${problem}.`,
      ...(versions > 0 ? [`${numberOf(versions, 'dataset version')} may have lost records.`] : []),
    ],
    question: (_, { tenant, lost }) => `Give up ${numberOf(lost.count, 'record')} of ${tenant}?`,
    name: ({ tenant }) => tenant,
    act: 'Forget',
  },
  table: ({ days: rows }) => ({ rows, columns: daysAs('LOST') }),
  done(_key, { lost, tenant, dry_run: isDry, id }) {
    const count = `${numberOf(lost.count, 'record')} of ${tenant}`;
    return isDry
      ? `${count} would be given up.`
      : `${count} are lost: ${id} in the journal of moves.`;
  },
});

const adopt = call('POST /retention/orphans/adopt', {
  summary: 'take back a segment that nobody knows',
  description:
    'Reads the object, proves that it is a whole segment of one tenant, and puts it into the catalogue and into the counters. It is refused where the database has records of one of its days already, or a dataset version of them. What was deleted or erased since it was written comes back with it: look at the days first.',
  argument: ['<key>', 'as svcctl retention orphans ls names it'],
  examples: [
    'svcctl retention orphans adopt records/tenant=TX/2001-03-01_2001-03-07_seg_4fTq9Zx7.parquet',
  ],
  options: [
    ['--dry-run', 'only tell what would come back'],
    ['--json', 'print what came back as JSON'],
  ],
  body: (_options, _context, object_key) => ({ object_key }),
  asks: {
    foresee: () => [],
    question: (_, { tenant, adopted }) =>
      `Take back ${numberOf(adopted.count, 'record')} of ${tenant}?`,
    act: 'Adopt',
  },
  table: ({ days: rows }) => ({ rows, columns: daysAs('RECORDS') }),
  done: (_key, { adopted, tenant, dry_run: isDry }) =>
    `${numberOf(adopted.count, 'record')} of ${tenant} ${isDry ? 'would come' : 'came'} back.`,
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

function daysAs(title: string) {
  const of = columnsOf<Forgotten['days'][number]>();
  return [
    of.text('STORE', 'store'),
    of.word('DAY (UTC)', 'day'),
    of.word(title, 'count', { align: 'right' }),
  ];
}

export const orphans: Noun = {
  summary: 'objects of the store that nobody knows',
  verbs: { ls, adopt, rm },
};
