import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { list } from '../list.ts';
import type { Verbs } from '../verb.ts';

const { word, text, ago } = columnsOf<RouteAnswer<'GET /views'>['data'][number]>();

const ls = list('GET /views', {
  summary: 'list the saved views of the console',
  description: 'Lists the views that this token or person saved, then those that others share.',
  examples: ['svcctl views ls', 'svcctl views ls --json name,address'],
  columns: [
    text('NAME', 'name'),
    text('ADDRESS', 'address', { givesWay: 1 }),
    word('SHARED', ({ shared }) => (shared ? 'yes' : '')),
    text('OWNER', ({ own, owner }) => (own ? 'you' : owner.name)),
    ago('CHANGED', 'updated_at'),
  ],
  below: { none: 'No views. They are saved in the console, by VIEWS.', one: 'view' },
});

const rm = call('DELETE /views/:name', {
  summary: 'delete a saved view',
  description: 'Deletes a saved view of this token or person.',
  argument: ['<name>', 'the name of the view, as svcctl views ls prints it'],
  examples: ['svcctl views rm "TX abandoned"'],
  options: [['--owner <id>', 'whose it is, where an admin deletes a shared one']],
  query: ({ owner }) => ({ owner }),
  done: (name) => `Deleted ${name}.`,
});

export const views: Verbs = { ls, rm };
