import { approvalStates } from '../../access/values.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { moment } from '../details.ts';
import { list } from '../list.ts';
import type { Verbs } from '../verb.ts';

const { word, text, ago } = columnsOf<RouteAnswer<'GET /approvals'>['data'][number]>();

const argument = ['<id>', 'the request’s id, as svcctl approvals ls prints it'] as const;

const ls = list('GET /approvals', {
  summary: 'list what waits to be confirmed by somebody else',
  description:
    'Lists what was asked for and somebody else must confirm, as SVC_FOUR_EYES says, newest first; and what has ended within 30 days.',
  examples: ['svcctl approvals ls --state waiting', 'svcctl approvals ls --json id,state,says'],
  filters: { state: { choices: approvalStates, help: 'only those in this state' } },
  columns: [
    word('ID', 'id'),
    word('STATE', 'state'),
    text('WHAT', 'says', { givesWay: 1 }),
    text('ASKED BY', (row) => (row.is_own ? `${row.asked_by.name} (you)` : row.asked_by.name)),
    ago('ASKED', 'asked_at'),
    ago('EXPIRES', 'expires_at'),
    text('ENDED BY', (row) => row.ended_by?.name ?? null),
    word('OUTCOME', 'outcome'),
  ],
  below: {
    none: 'Nothing waits to be confirmed.',
    one: 'request',
    next: 'look, then confirm: svcctl approvals show ID',
  },
});

/** Said of what was confirmed where nobody could note how it ended. */
const brokenOff = 'it runs, or broke off: see svcctl audit ls, and ask anew for what is left';

const show = call('GET /approvals/:id', {
  summary: 'show what was asked for, with the call',
  description: 'Shows what was asked for, by whom and from where, with the body of the call.',
  argument,
  examples: ['svcctl approvals show apr_4fTq9Zx7Kq2LmN0p'],
  facts: (row, times) => [
    ['what', row.says],
    ['state', row.state],
    ['call', `${row.method} ${row.path}`],
    ['body', row.body == null ? null : JSON.stringify(row.body)],
    ['asked by', row.is_own ? `${row.asked_by.name} (you)` : row.asked_by.name],
    ['from', [row.address, row.user_agent].filter((part) => part !== null).join(', ')],
    ['asked', moment(row.asked_at, times)],
    ['expires', moment(row.expires_at, times)],
    ['ended by', row.ended_by?.name ?? null],
    ['outcome', row.outcome ?? (row.state === 'confirmed' ? brokenOff : null)],
  ],
});

const confirm = call('POST /approvals/:id/confirm', {
  summary: 'confirm what somebody else has asked for, and do it',
  description:
    'Does what somebody else has asked for. It is done in their name; the audit log has both. Not for who asked, nor for tokens of the same chain of makers.',
  argument,
  examples: [
    'svcctl approvals confirm apr_4fTq9Zx7Kq2LmN0p',
    'svcctl approvals confirm apr_4fTq9Zx7Kq2LmN0p --yes',
  ],
  asks: { question: ([id]) => `Confirm ${id}, so that it is done now?`, act: 'Confirm' },
  options: [['--json', 'print what the call answered as JSON']],
  prints: () => null,
  done: (id) => `Confirmed ${id}. It is done, or under way.`,
});

const reject = call('POST /approvals/:id/reject', {
  summary: 'reject what somebody has asked for, or withdraw it',
  description: 'Rejects what somebody has asked for, or withdraws what you have asked for.',
  argument,
  examples: ['svcctl approvals reject apr_4fTq9Zx7Kq2LmN0p'],
  options: [['--json', 'print the request as JSON']],
  prints: () => null,
  done: (id) => `Rejected ${id}. Nothing was done.`,
});

export const approvals: Verbs = { ls, show, confirm, reject };
