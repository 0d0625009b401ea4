import type { Command } from 'commander';
import { confirm } from '../../confirm.ts';
import type { Context } from '../../context.ts';
import { withExamples } from '../../help.ts';
import { printObject } from '../../output.ts';
import type { RouteAnswer } from '../../routes.ts';

type Store = RouteAnswer<'GET /retention/store'>;
type Options = { yes?: true; json?: true };

const fields = [
  'state',
  'problem',
  'written_at',
  'written_by',
] as const satisfies readonly (keyof Store)[];

export function addRetentionAdoptStore(retention: Command, context: Context): void {
  const command = retention
    .command('adopt-store')
    .summary('take the store of cold data over for this database')
    .description(
      'Of two copies of a database (a clone, a restored backup) on one store of cold data, one writes, and\nthe other one only reads. Makes the one of this service the one that writes. It tells how things are,\nand asks.',
    )
    .option('--yes', 'do not ask')
    .option('--json', 'print how the store stands afterwards as JSON')
    .action((options: Options) => adopt(context, options));
  withExamples(command, ['svcctl retention adopt-store', 'svcctl retention adopt-store --yes']);
}

async function adopt(context: Context, { yes, json }: Options): Promise<void> {
  const client = await context.connect();
  const store = await client.json('GET /retention/store', {});
  if (store.state === 'own') {
    context.note('The store is this database’s already.');
    if (json) await print(context, store);
    return;
  }
  if (store.problem !== null) context.note(store.problem);
  if (store.written_by !== null) context.note(`Last written by ${store.written_by}.`);
  await confirm(context, yes, {
    question:
      'Stop the other service first. It will only read, and miss what is merged or deleted here. Take the store over?',
    act: 'Take it over',
    refused: 'Nothing was changed.',
  });
  const adopted = await client.json('POST /retention/adopt-store', {});
  if (json) await print(context, adopted);
  context.note('The store is this database’s now.');
  context.hint('See what is missing: svcctl retention verify');
}

async function print(context: Context, store: Store): Promise<void> {
  await printObject(context, JSON.stringify(store), { json: true, fields });
}
