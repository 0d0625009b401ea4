import { numberOf } from '../../kernel/values.ts';
import { moveFilters } from '../../retention/view.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { moment, whereAny } from '../details.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { styled } from '../io.ts';
import { list } from '../list.ts';
import { daysText } from '../slice.ts';
import { tableLines } from '../table.ts';

export type Move = RouteAnswer<'GET /retention/moves/:id'>;

const { word, text, count } = columnsOf<Move>();

const columns = [
  word('ID', 'id'),
  text('TENANT', 'tenant'),
  word('KIND', 'kind'),
  word('DAYS (UTC)', (move) => `${move.first_day}/${move.last_day}`, { shown: daysText }),
  word('STATE', 'state'),
  count('RECORDS', recordsOf),
  word('DIGEST', digestWord, {
    shown: (move) => ({ equal: '✓', differs: '✗', '': '–' })[digestWord(move)],
  }),
  count('TOOK', tookMillis, {
    shown(move) {
      const millis = tookMillis(move);
      return millis === null ? '–' : formatDuration(millis);
    },
  }),
  text('ERROR', errorText),
];

export const moves = list('GET /retention/moves', {
  summary: 'read the journal: what was moved, merged, deleted, erased',
  description:
    'Reads the journal of moves, the latest first. DIGEST is ✓ when the written objects, read back, hold exactly what the source held.',
  examples: [
    'svcctl retention moves',
    'svcctl retention moves --tenant TX --state failed',
    'svcctl retention moves --limit 1 --json source,object',
  ],
  filters: moveFilters,
  limit: { of: 'moves', rows: 50 },
  columns,
  below: {
    none: 'No moves. What would move now: svcctl retention plan',
    one: 'move',
    next: 'look at one: svcctl retention move mv_…',
  },
});

export const move = call('GET /retention/moves/:id', {
  summary: 'show one move of the journal, with both triples',
  description:
    'Shows one move: each step of it with its time, and count, bytes and digest of the source beside those of the written objects as they were read back.',
  argument: ['<id>', 'the move’s id, as svcctl retention moves prints it'],
  examples: [
    'svcctl retention move mv_4fTq9Zx7Kq2LmN0p',
    'svcctl retention move mv_4fTq9Zx7Kq2LmN0p --json state,source,object',
  ],
  facts(row, times) {
    const stored = row.stored_bytes === null ? '' : `, ${formatBytes(row.stored_bytes)}`;
    const written = numberOf(row.segments_out, 'object');
    return [
      ['id', row.id],
      ['tenant', row.tenant],
      ['kind', row.kind],
      ['state', row.failed_in === null ? row.state : `${row.state}, when ${row.failed_in}`],
      ...whereAny('error', row.error_code && errorText(row)),
      ['days', daysText(row)],
      ['run', row.run_id],
      ['objects', `${written} written${stored}; ${row.segments_in} replaced`],
      ['planned', moment(row.planned_at, times)],
      ['copied', moment(row.copied_at, times)],
      ['verified', moment(row.verified_at, times)],
      ['switched', moment(row.switched_at, times)],
      ['removed', moment(row.removed_at, times)],
      ...whereAny('failed', moment(row.failed_at, times)),
    ];
  },
  more: (row, _answer, context) => ['', ...tripleLines(context, row)],
});

/** How many records a move was about: those that moved or were merged, or those that were deleted. */
function recordsOf({ kind, source, gone }: Move): number {
  return kind === 'delete' || kind === 'erase' ? gone.count : (source?.count ?? 0);
}

/** Whether the objects, read back, hold what the source held; '' while there is nothing to compare. */
function digestWord({ source, object }: Move): 'equal' | 'differs' | '' {
  if (source === null || object === null) return '';
  const isEqual =
    source.count === object.count &&
    source.bytes === object.bytes &&
    source.digest === object.digest;
  return isEqual ? 'equal' : 'differs';
}

/** How long a move took: until reads no longer used the source, or until it failed. Null before that. */
function tookMillis({ planned_at, switched_at, failed_at }: Move): number | null {
  const end = switched_at ?? failed_at;
  return end === null ? null : Math.max(0, Date.parse(end) - Date.parse(planned_at));
}

/** Why a move failed, with its code; null when it did not. */
export function errorText({ error_code, error }: Move): string | null {
  if (error_code === null) return error;
  return error === null ? error_code : `${error_code}: ${error}`;
}

/** The two triples, one below the other, and whether they are equal. */
function tripleLines(context: Context, move: Move): string[] {
  const { source, object, gone } = move;
  const rows: TripleRow[] = [
    { what: 'SOURCE', ...source },
    { what: 'OBJECTS', ...object },
    { what: 'GONE', ...(gone.count === 0 ? null : gone) },
  ];
  const [titles, ...lines] = tableLines(context, tripleColumns, rows);
  return [
    styled(context.io, context.io.stdout, 'dim', titles),
    ...lines.map((text, at) => (at === 1 ? text + mark(context, move) : text)),
  ];
}

type TripleRow = { readonly what: string } & Partial<Move['gone']>;
const triple = columnsOf<TripleRow>();
const tripleColumns = [
  triple.word('', 'what'),
  triple.count('RECORDS', 'count'),
  triple.count('BYTES', 'bytes'),
  triple.word('DIGEST', 'digest'),
];

function mark({ io }: Context, move: Move): string {
  const word = digestWord(move);
  if (word === '') return '';
  const [style, sign] = word === 'equal' ? (['green', '✓'] as const) : (['red', '✗'] as const);
  return `  ${styled(io, io.stdout, style, `${sign} ${word}`)}`;
}
