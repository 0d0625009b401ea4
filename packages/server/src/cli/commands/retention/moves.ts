import { type Command, Option } from 'commander';
import type { MoveKind, MoveState } from '../../../contract.ts';
import type { Context } from '../../context.ts';
import { formatNumberOf } from '../../format.ts';
import { wholeNumber, withExamples } from '../../help.ts';
import { createRowPrinter, type JsonOption, jsonFlags, jsonHelp } from '../../output.ts';
import { walkPages } from '../../pages.ts';
import { type Move, moveColumns, moveFields } from '../../retention/moves.ts';
import { moveKinds, moveStates } from '../../retention/words.ts';

type Options = {
  tenant?: string;
  kind?: MoveKind;
  state?: MoveState;
  run?: string;
  limit?: number;
  json?: JsonOption;
};

const rowsByDefault = 50;

export function addRetentionMoves(retention: Command, context: Context): void {
  const command = retention
    .command('moves')
    .summary('read the journal: what was moved, merged, deleted, erased')
    .description(
      'Reads the journal of moves, the latest first. DIGEST is ✓ when the written objects, read back, hold\nexactly what the source held.',
    )
    .option('--tenant <tenant>', 'only of this tenant')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(moveKinds))
    .addOption(new Option('--state <state>', 'only in this state').choices(moveStates))
    .option('--run <id>', 'only of this run')
    .option('--limit <moves>', `moves, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: Options) => listMoves(context, options));
  withExamples(command, [
    'svcctl retention moves',
    'svcctl retention moves --tenant TX --state failed',
    'svcctl retention moves --limit 1 --json source,object',
  ]);
}

async function listMoves(
  context: Context,
  { json, limit = rowsByDefault, run, ...filter }: Options,
): Promise<void> {
  const printer = createRowPrinter<Move>(context, {
    columns: moveColumns,
    fields: moveFields,
    json,
  });
  const client = await context.connect();
  let printed = 0;
  let hasMore = false;
  for await (const page of walkPages(context.io, client, {
    route: 'GET /retention/moves',
    query: { ...filter, run_id: run },
    most: limit,
  })) {
    await printer.write(page.rows);
    printed += page.rows.length;
    hasMore = page.nextCursor !== null;
  }
  await printer.end();
  if (json !== undefined || !context.isTerminal) return;
  if (printed === 0) {
    context.hint('No moves. What would move now: svcctl retention plan');
    return;
  }
  const more = hasMore ? ' · older ones: --limit' : '';
  context.hint(
    `${formatNumberOf(printed, 'move')}${more} · look at one: svcctl retention move mv_…`,
  );
}
