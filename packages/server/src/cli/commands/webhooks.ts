import { foreign, readForeign } from '../as-code/foreign.ts';
import { endpoints, nameOf } from '../as-code/kinds.ts';
import { usage } from '../help.ts';
import { printable } from '../table.ts';
import { type Verbs, verb, yesOption } from '../verb.ts';
import { readJson } from '../webhooks/read-json.ts';
import { applyRows } from './apply.ts';

const importEndpoints = verb({
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
  async act(context, { from, tenant, ...options }, place) {
    const { value } = await readJson(context, '<file>', place === '-' ? place : `@${place}`);
    const { rows, notes } = readForeign(from, { file: value, tenant });
    const names = rows.map((row) => nameOf(endpoints, row));
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw usage(`${twice} stands in the list twice.`);
    for (const note of notes) context.note(`Mind: ${printable(note)}`);
    const wanted = new Map([[endpoints, rows]]);
    await applyRows(context, { wanted, resolve: async (_kind, row) => row }, options);
  },
});

export const webhooks: Verbs = { import: importEndpoints };
