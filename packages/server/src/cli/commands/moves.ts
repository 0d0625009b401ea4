import { type Command, Option } from 'commander';
import { type MoveKind, type MoveState, moveKinds, moveStates } from '../../retention/values.ts';
import type { Context } from '../context.ts';
import { formatBytes, formatInstant, formatNumberOf, formatRelative } from '../format.ts';
import { wholeNumber, withExamples } from '../help.ts';
import { type JsonOption, jsonFlags, jsonHelp, picker } from '../output.ts';
import { printList } from '../pages.ts';
import { parseAnswer } from '../parse-answer.ts';
import { formatDays } from '../retention/days.ts';
import { errorText, type Move, moveColumns, moveFields, tripleLines } from '../retention/moves.ts';
import { nameValueLines, printDetails } from '../webhooks/details.ts';

type MovesOptions = {
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
      'Reads the journal of moves, the latest first. DIGEST is ✓ when the written objects, read back, hold exactly what the source held.',
    )
    .option('--tenant <tenant>', 'only of this tenant')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(moveKinds))
    .addOption(new Option('--state <state>', 'only in this state').choices(moveStates))
    .option('--run <id>', 'only of this run')
    .option('--limit <moves>', `moves, at most (default: ${rowsByDefault})`, wholeNumber(1))
    .option(jsonFlags, jsonHelp)
    .action((options: MovesOptions) => listMoves(context, options));
  withExamples(command, [
    'svcctl retention moves',
    'svcctl retention moves --tenant TX --state failed',
    'svcctl retention moves --limit 1 --json source,object',
  ]);
}

async function listMoves(
  context: Context,
  { json, limit = rowsByDefault, run, ...filter }: MovesOptions,
): Promise<void> {
  const output = { columns: moveColumns, fields: moveFields, json };
  await printList(context, output, {
    route: 'GET /retention/moves',
    query: { ...filter, run_id: run },
    most: limit,
    tell({ printed, hasMore }) {
      if (printed === 0) return 'No moves. What would move now: svcctl retention plan';
      const more = hasMore ? ' · older ones: --limit' : '';
      return `${formatNumberOf(printed, 'move')}${more} · look at one: svcctl retention move mv_…`;
    },
  });
}

export function addRetentionMove(retention: Command, context: Context): void {
  const command = retention
    .command('move')
    .summary('show one move of the journal, with both triples')
    .description(
      'Shows one move: each arrow with its time, and count, bytes and digest of the source beside those of the written objects as they were read back.',
    )
    .argument('<id>', 'the move’s id, as svcctl retention moves prints it')
    .option(jsonFlags, jsonHelp)
    .action((id: string, options: { json?: JsonOption }) => show(context, id, options));
  withExamples(command, [
    'svcctl retention move mv_4fTq9Zx7Kq2LmN0p',
    'svcctl retention move mv_4fTq9Zx7Kq2LmN0p --json state,source,object',
  ]);
}

async function show(context: Context, id: string, { json }: { json?: JsonOption }): Promise<void> {
  picker(json, moveFields);
  const client = await context.connect();
  const text = await client.text('GET /retention/moves/:id', { params: { id } });
  await printDetails(context, text, {
    json,
    fields: moveFields,
    lines: () => linesOf(context, parseAnswer(text) as Move),
  });
}

function linesOf(context: Context, move: Move): string[] {
  const now = context.io.now();
  const at = (time: string | null) =>
    time === null ? null : `${formatInstant(time)} UTC, ${formatRelative(time, now)}`;
  const failed = move.failed_at === null ? [] : [['failed', at(move.failed_at)] as const];
  const stored = move.stored_bytes === null ? '' : `, ${formatBytes(move.stored_bytes)}`;
  return [
    ...nameValueLines(context, [
      ['id', move.id],
      ['tenant', move.tenant],
      ['kind', move.kind],
      ['state', move.failed_in === null ? move.state : `${move.state}, when ${move.failed_in}`],
      ...(move.error_code === null ? [] : [['error', errorText(move)] as const]),
      ['days', formatDays(move.first_day, move.last_day)],
      ['run', move.run_id],
      [
        'objects',
        `${formatNumberOf(move.segments_out, 'object')} written${stored}; ${move.segments_in} replaced`,
      ],
      ['planned', at(move.planned_at)],
      ['copied', at(move.copied_at)],
      ['verified', at(move.verified_at)],
      ['switched', at(move.switched_at)],
      ['removed', at(move.removed_at)],
      ...failed,
    ]),
    '',
    ...tripleLines(context, move),
  ];
}
