import { numberOf } from '../../kernel/values.ts';
import { moveFilters } from '../../retention/view.ts';
import { call } from '../act.ts';
import { moment, whereAny } from '../details.ts';
import { formatBytes } from '../format.ts';
import { list } from '../list.ts';
import { formatDays } from '../retention/days.ts';
import { errorText, moveColumns, tripleLines } from '../retention/moves.ts';

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
  columns: moveColumns,
  below: {
    none: 'No moves. What would move now: svcctl retention plan',
    one: 'move',
    more: 'older ones',
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
  facts(row, now) {
    const stored = row.stored_bytes === null ? '' : `, ${formatBytes(row.stored_bytes)}`;
    const written = numberOf(row.segments_out, 'object');
    return [
      ['id', row.id],
      ['tenant', row.tenant],
      ['kind', row.kind],
      ['state', row.failed_in === null ? row.state : `${row.state}, when ${row.failed_in}`],
      ...whereAny('error', row.error_code && errorText(row)),
      ['days', formatDays(row.first_day, row.last_day)],
      ['run', row.run_id],
      ['objects', `${written} written${stored}; ${row.segments_in} replaced`],
      ['planned', moment(row.planned_at, now)],
      ['copied', moment(row.copied_at, now)],
      ['verified', moment(row.verified_at, now)],
      ['switched', moment(row.switched_at, now)],
      ['removed', moment(row.removed_at, now)],
      ...whereAny('failed', moment(row.failed_at, now)),
    ];
  },
  more: (row, _answer, context) => ['', ...tripleLines(context, row)],
});
