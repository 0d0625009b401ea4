import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { datasetNames } from '../../records/values.ts';
import { tagFilters } from '../../records/view.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { canAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { formatBytes } from '../format.ts';
import { usage } from '../help.ts';
import { list } from '../list.ts';
import { checkDays, placeOptions, windowText } from '../slice.ts';
import { type Noun, verb } from '../verb.ts';
import { countText, walkCount } from './records-count.ts';

export type Tag = RouteAnswer<'GET /enrichment/tags'>['data'][number];
export type Tagged = RouteAnswer<'POST /enrichment/tags'>;

const { word, text, count, bytes, ago } = columnsOf<Tag>();

const ls = list('GET /enrichment/tags', {
  summary: 'list the tagged slices',
  description:
    'Lists the tagged slices, the latest first, with the records that are in them now. With days or a store: those that touch them.',
  examples: [
    'svcctl records tags ls --tenant TX',
    'svcctl records tags ls --tenant TX --store DFW --month 2026-03',
    'svcctl records tags ls --dataset training --json id,tenant,count',
  ],
  filters: tagFilters,
  columns: [
    word('ID', 'id'),
    text('TENANT', 'tenant'),
    text('STORE', 'store', { shown: ({ store }) => store ?? 'all' }),
    word('DAYS (UTC)', ({ from, to }) => `${from ?? ''}/${to ?? ''}`, { shown: windowText }),
    word('DATASET', 'dataset'),
    count('RECORDS', 'count'),
    bytes('BYTES', 'bytes'),
    ago('TAGGED', 'created_at'),
    text('NOTE', 'note'),
  ],
  below: {
    none: 'No tags that match. Tag a slice: svcctl records tags add',
    one: 'tag',
    next: 'freeze what is tagged: svcctl records versions create',
  },
});

const add = verb({
  summary: 'tag a slice as training or fine-tuning data',
  description:
    'Tags whole days of a tenant or a store, with the records that arrive in them later; without days: all of them. Asks first when records would be in both datasets.',
  examples: [
    'svcctl records tags add --tenant TX --quarter 2026-Q1 --dataset training',
    'svcctl records tags add --tenant TX --store DFW --month 2026-03 --dataset fine_tuning --note "checked by hand"',
    'svcctl records tags add --tenant TX --dataset training --dry-run',
    `svcctl records tags add --tenant TX --dataset training --dry-run --where 'score >= 0.9'`,
  ],
  options: [
    ...placeOptions,
    ['--dataset <name>', 'what the records are for (required)', datasetNames],
    ['--note <text>', 'a note for people'],
    ['--dry-run', 'only tell what would be tagged'],
    ['--where <where>', 'with --dry-run: also count those of them that fit, as a version would'],
    ['--yes', 'do not ask, even when records would be in both datasets'],
    ['--json', 'print the tag as JSON'],
  ],
  async act(context, options) {
    checkDays(options);
    const { tenant, store, month, from, to, dataset, note, where } = options;
    if (where !== undefined && !options.dryRun) {
      throw usage(
        'A tag is of whole days: --where goes with --dry-run, and with records versions create.',
      );
    }
    const slice = { tenant, store, month, from, to, dataset };
    const client = await context.connect();
    const body = { ...slice, note };
    const planned = await client.json('POST /enrichment/tags', {
      body: { ...body, dry_run: true },
    });
    for (const warning of planned.warnings) context.note(`warning: ${warning.message}`);
    if (options.dryRun) {
      await tell(context, planned, { isJson: options.json === true, verb: 'Would tag' });
      if (where === undefined) return;
      const counted = await walkCount(context, client, { tenant, store, month, from, to, where });
      context.note(`${countText(counted)} fit ${where}`);
      return;
    }
    await askAboutBoth(context, planned, options.yes);
    const tagged = await client.json('POST /enrichment/tags', { body });
    await tell(context, tagged, { isJson: options.json === true, verb: 'Tagged' });
  },
});

/**
 * Warns when records would be in both datasets, and asks: data of one purpose that is used for the other spoils an
 * evaluation.
 */
async function askAboutBoth(
  context: Context,
  planned: Tagged,
  yes: true | undefined,
): Promise<void> {
  const both = planned.warnings.find(({ code }) => code === 'in_both_datasets');
  if (both === undefined || yes) return;
  if (!canAsk(context)) {
    throw new AppError('in_both_datasets', {
      detail: `${numberOf(both.count, 'record')} would be in both datasets. Nothing was tagged. If that is meant: --yes`,
    });
  }
  await confirm(context, undefined, {
    question: `Tag ${numberOf(planned.count, 'record')}, ${formatCount(both.count)} of them for both?`,
    act: 'Tag',
    refused: 'Nothing was tagged.',
  });
}

/**
 * Prints what was tagged: `Tagged 41,022 records (19.7 MB) of TX, store DFW, 2001-01-01 … 2001-01-31, as training
 * data.`
 */
async function tell(
  context: Context,
  tagged: Tagged,
  { isJson, verb }: { isJson: boolean; verb: string },
): Promise<void> {
  if (isJson) await context.out.write(`${JSON.stringify(tagged)}\n`);
  else if (tagged.id !== null) await context.out.write(`${tagged.id}\n`);
  const { tenant, store, dataset } = tagged;
  const records = `${numberOf(tagged.count, 'record')} (${formatBytes(tagged.bytes)})`;
  const place = store === null ? tenant : `${tenant}, store ${store}`;
  context.note(
    `${verb} ${records} of ${place}, ${windowText(tagged)}, as ${dataset.replace('_', '-')} data.`,
  );
  if (tagged.id !== null) context.hint(`undo: svcctl records tags rm ${tagged.id}`);
}

const rm = call('DELETE /enrichment/tags/:id', {
  summary: 'untag slices',
  description:
    'Untags slices. Their records stay; versions that were frozen with them stay as they are.',
  argument: ['<id...>', 'ids, as svcctl records tags ls prints them'],
  examples: [
    'svcctl records tags rm tag_4fTq9Zx7Kq2LmN0p',
    'svcctl records tags ls --tenant TX --json id | jq -r ".[].id" | xargs svcctl records tags rm',
  ],
  done: (id) => `Untagged ${id}.`,
});

export const tags: Noun = {
  summary: 'slices tagged as training or fine-tuning data',
  verbs: { ls, add, rm },
};
