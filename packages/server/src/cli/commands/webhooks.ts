import { foreign, readForeign } from '../as-code/foreign.ts';
import { kinds, nameOf } from '../as-code/kinds.ts';
import type { Context } from '../context.ts';
import { required, usage } from '../help.ts';
import { printable } from '../table.ts';
import { type Verb, type Verbs, yesOption } from '../verb.ts';
import { readJson } from '../webhooks/read-json.ts';
import { applyRows } from './apply.ts';

type ImportOptions = { from?: string; tenant?: string; dryRun?: true; yes?: true };

const importEndpoints: Verb = {
  summary: 'take over the endpoints of Svix or Convoy, with their secrets',
  description:
    'Makes endpoints of the list that Svix or Convoy answers, with their secrets where the list has them. Their uids stay, so that it can be done again: then only what differs is changed.',
  argument: ['<file>', 'the list as JSON, or - for stdin'],
  examples: [
    'svcctl webhooks import --from svix --tenant TX endpoints.json --dry-run',
    'svcctl webhooks import --from convoy --tenant TX endpoints.json',
  ],
  options: [
    ['--from <service>', 'whose list it is (required)', Object.keys(foreign)],
    ['--tenant <tenant>', 'whose endpoints they become (required)'],
    ['--dry-run', 'only print what differs; ends with 2 where something does'],
    yesOption,
  ],
  act: importFrom,
};

async function importFrom(context: Context, options: ImportOptions, place: string): Promise<void> {
  const from = required(options.from, '--from');
  const tenant = required(options.tenant, '--tenant');
  const { value } = await readJson(context, '<file>', place === '-' ? place : `@${place}`);
  const { rows, notes } = readForeign(from, { file: value, tenant });
  const kind = kinds.find(({ section }) => section === 'endpoints');
  if (kind === undefined) throw usage('There are no endpoints.');
  const names = rows.map((row) => nameOf(kind, row));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw usage(`${twice} stands in the list twice.`);
  for (const note of notes) context.note(`Mind: ${printable(note)}`);
  const wanted = new Map([[kind, rows]]);
  await applyRows(context, { wanted, resolve: async (_kind, row) => row }, options);
}

export const webhooks: Verbs = { import: importEndpoints };
