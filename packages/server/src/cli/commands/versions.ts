import { InvalidArgumentError } from 'commander';
import { numberOf } from '../../kernel/values.ts';
import { datasetNames } from '../../records/values.ts';
import { versionFilters } from '../../records/view.ts';
import { call } from '../act.ts';
import { confirm } from '../confirm.ts';
import {
  amountText,
  diffLines,
  findVersion,
  followCounting,
  type Version,
  versionColumns,
  versionLines,
  walkDiff,
} from '../dataset-versions.ts';
import { printDetails } from '../details.ts';
import { usage } from '../help.ts';
import { list } from '../list.ts';
import { whereOption } from '../slice.ts';
import { jsonOption, type Noun, verb, yesOption } from '../verb.ts';

const ls = list('GET /enrichment/dataset-versions', {
  summary: 'list the dataset versions',
  description: 'Lists the frozen versions of datasets, the latest first.',
  examples: [
    'svcctl records versions ls --tenant TX',
    'svcctl records versions ls --json id,name,count,digest',
  ],
  filters: versionFilters,
  columns: versionColumns,
  below: {
    none: 'No versions. Freeze what is tagged: svcctl records versions create',
    one: 'version',
    next: 'look at one: svcctl records versions show ID',
  },
});

/** A version is named by its id, or by its name among those of a tenant. */
const argument = ['<version>', 'its id; with --tenant also its name'] as const;
const nameOption = [
  '--tenant <tenant>',
  'the tenant among whose versions the name is looked up',
] as const;

const show = call('GET /enrichment/dataset-versions/:id', {
  summary: 'show one dataset version, with its slices and splits',
  description: 'Shows a dataset version: what was frozen, its splits, and what is left of it.',
  argument,
  examples: [
    'svcctl records versions show ver_4fTq9Zx7Kq2LmN0p',
    'svcctl records versions show 2026-q1 --tenant TX',
    'svcctl records versions show ver_4fTq9Zx7Kq2LmN0p --json count,digest,splits',
  ],
  options: [nameOption],
  read: (context, client, { tenant }, word) => findVersion(context, client, { word, tenant }),
  more: (version, _text, context) => versionLines(context, version),
});

type Shares = { train: number; validation: number; test: number };
/** Freezes a version, and waits until it is counted unless --no-wait was given. */
const create = call('POST /enrichment/dataset-versions', {
  summary: 'freeze the tagged slices of a tenant into a version',
  description:
    'Freezes the records that are tagged so now into a version that stays the same, whatever is tagged, untagged or arrives later; waits until they were read and compared. Prints its id.',
  examples: [
    'svcctl records versions create --tenant TX --dataset training --name 2026-q1',
    'svcctl records versions create --tenant TX --dataset training --name 2026-q1 --split 80/10/10 --note "first one"',
    'svcctl records versions create --tenant TX --dataset training --name 2026-q2 --split 80/10/10 --group-by camera_id',
    `svcctl records versions create --tenant TX --dataset training --name sure --where 'score >= 0.9'`,
    'svcctl analytics export --tenant TX --version 2026-q1 --split train --format parquet',
  ],
  options: [
    ['--tenant <tenant>', 'the tenant (required)'],
    ['--dataset <name>', 'the dataset (required)', datasetNames],
    ['--name <name>', 'its name, of which the tenant has no other (required)'],
    [
      '--split <shares>',
      'percent for train/validation/test, as 80/10/10; by hash of the event, so the same one each time',
      parseShares,
    ],
    [
      '--group-by <field>',
      'keep records with the same value there in one split: a field of the enrichment, as camera_id, or store, kind, source, model',
    ],
    whereOption,
    ['--note <text>', 'a note for people'],
    ['--no-wait', 'leave the service at counting'],
  ],
  async read(context, client, { wait, ...asked }) {
    const { tenant, dataset, name, where, note, split: shares, groupBy: group_by } = asked;
    const made = await client.json('POST /enrichment/dataset-versions', {
      body: { tenant, dataset, name, shares, group_by, where, note },
    });
    return wait ? followCounting(context, client, made) : made;
  },
  prints: ({ id }) => id,
  done: (_id, version) => toldOf(version),
  next: ({ tenant, id }) =>
    `export it: svcctl analytics export --tenant ${tenant} --version ${id} --format parquet`,
});

/** A counted version: `✓ 2026-q1: 512,991 records (246 MB) · digest 9f3c00000000abe1`. */
function toldOf(version: Version): string {
  const isReady = version.state === 'ready';
  const amount = `${amountText(version)} · digest ${version.digest ?? 'not known yet'}`;
  const splits = Object.entries(version.splits ?? {}).map(
    ([name, { count, digest }]) => `  ${name}: ${numberOf(count, 'record')} · digest ${digest}`,
  );
  const state = isReady ? '' : ` · ${version.state}`;
  return [`${isReady ? '✓ ' : ''}${version.name}: ${amount}${state}`, ...splits].join('\n');
}

function parseShares(text: string): Shares {
  const [, ...shares] = /^(\d{1,3})\/(\d{1,3})\/(\d{1,3})$/.exec(text) ?? [];
  const [train = 0, validation = 0, test = 0] = shares.map(Number);
  if (train + validation + test === 100) return { train, validation, test };
  throw new InvalidArgumentError('It is not three shares of 100 together, such as 80/10/10.');
}

const rm = verb({
  summary: 'delete a dataset version',
  description:
    'Deletes a dataset version. Its records and tags stay; retention need not keep the records for it any more.',
  argument,
  examples: [
    'svcctl records versions rm ver_4fTq9Zx7Kq2LmN0p',
    'svcctl records versions rm 2026-q1 --tenant TX --yes',
  ],
  options: [nameOption, yesOption],
  async act(context, { tenant, yes }, name) {
    const client = await context.connect();
    const version = await findVersion(context, client, { word: name, tenant });
    const what = `${version.name} of ${version.tenant} (${version.id})`;
    await confirm(context, yes, {
      question: `Delete the version ${what}? Its ${version.count === null ? 'records' : numberOf(version.count, 'record')} stay, but nothing keeps them together.`,
      act: 'Delete',
      refused: 'Nothing was deleted.',
    });
    await client.json('DELETE /enrichment/dataset-versions/:id', { params: { id: version.id } });
    context.note(`Deleted ${what}.`);
  },
});

const diff = verb({
  summary: 'compare two dataset versions',
  description:
    'Tells what the second version has more and less than the first, which records both have in different splits, and names the first of each. It reads what may differ, stretch by stretch.',
  argument: ['<versions...>', 'two: their ids; with --tenant also their names'],
  examples: [
    'svcctl records versions diff 2026-q1 2026-q2 --tenant TX',
    'svcctl records versions diff ver_4fTq9Zx7Kq2LmN0p ver_9Kq2LmN0p4fTq9Zx --json added,gone',
  ],
  options: [
    nameOption,
    ['--limit <count>', 'how many records of each kind are named, at most 100 (20)', parseLimit],
    jsonOption,
  ],
  answers: 'GET /enrichment/dataset-versions/:id/diff',
  async act(context, { tenant, limit = 20, json }, words) {
    const [from, to, ...more] = words;
    if (from === undefined || to === undefined || more.length > 0) {
      throw usage('Name two versions: svcctl records versions diff A B.');
    }
    const client = await context.connect();
    const find = (word: string) => findVersion(context, client, { word, tenant });
    const pair = { from: await find(from), to: await find(to) };
    const found = await walkDiff(context, client, { ...pair, limit });
    const lines = () => diffLines(context, pair, found);
    await printDetails(context, JSON.stringify(found), { json, lines });
  },
});

function parseLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 100) return limit;
  throw new InvalidArgumentError('It is a number from 1 to 100.');
}

const bundle = verb({
  summary: 'make a folder of a dataset version, for those who train',
  description:
    'Makes a folder that datasets.load_dataset, pandas and DuckDB read as it is: typed Parquet of each split (svcctl exports schema shows its columns), a dataset card, statistics, manifests and checksums. The service makes all of it in one export job, whose tar (svcctl exports get has it whole) is unpacked as it comes. A run that broke off is gone on with by the same command.',
  argument,
  examples: [
    'svcctl records versions bundle 2026-q1 --tenant TX --dir tx-2026-q1',
    'svcctl records versions bundle ver_4fTq9Zx7Kq2LmN0p --dir ./bundle --force',
  ],
  options: [
    nameOption,
    ['--dir <folder>', 'the folder, which is made where there is none (required)'],
    ['--force', 'replace the bundle that is there'],
  ],
  async act(context, { tenant, dir, force }, name) {
    const { getBundle } = await import('../exports/bundle.ts');
    const client = await context.connect();
    const found = await findVersion(context, client, { word: name, tenant });
    // What is left of one that has lost records is known when it is counted.
    const version = await followCounting(context, client, found);
    await getBundle(context, client, { version, dir, mayReplace: force === true });
  },
});

export const versions: Noun = {
  summary: 'frozen versions of datasets',
  verbs: { ls, show, create, diff, bundle, rm },
};
