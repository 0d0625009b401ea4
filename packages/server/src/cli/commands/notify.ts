import { noticeKinds, severities } from '../../checks/values.ts';
import { AppError } from '../../kernel/errors.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { formatRelative } from '../format.ts';
import { usage } from '../help.ts';
import { list } from '../list.ts';
import type { Given, Verbs } from '../verb.ts';

type Target = RouteAnswer<'GET /notify/targets'>['data'][number];

const argument = ['<id>', 'the target’s id, as svcctl notify ls prints it'] as const;

const target = columnsOf<Target>();

const ls = list('GET /notify/targets', {
  summary: 'list who is told, and whether it arrives',
  description: 'Lists who is told of what is wrong, and how the last message to each fared.',
  examples: ['svcctl notify ls', 'svcctl notify ls --json id,url,to,last_send'],
  columns: [
    target.word('ID', 'id'),
    target.text('TOLD', addressOf, { isCutInMiddle: true }),
    target.word('TENANT', 'tenant'),
    target.text('OF', (row) => row.kinds?.join(',') ?? 'all'),
    target.word('FROM', 'min_severity'),
    target.word('STATE', (row) => (row.enabled ? 'on' : 'off')),
    target.word('LAST', (row) => row.last_send?.state ?? null, {
      shown: ({ last_send: last }, now) =>
        last === null ? 'nothing yet' : `${lastTexts[last.state]} ${formatRelative(last.at, now)}`,
    }),
    target.text('ERROR', (row) => row.last_send?.error ?? null, { givesWay: 1 }),
  ],
  below: {
    none: 'Nobody is told. Add somebody: svcctl notify add --webhook https://…',
    one: 'target',
    next: 'try one: svcctl notify test ID',
  },
});

const lastTexts = { queued: 'being sent', delivered: 'arrived', given_up: 'given up' } as const;

function addressOf({ url, to }: Pick<Target, 'url' | 'to'>): string {
  return url ?? to ?? '';
}

/** What a target is told. */
const wishOptions = [
  ['--kind <kind...>', 'tell of these only; all: of everything', [...noticeKinds, 'all'] as const],
  ['--severity <severity>', 'tell what matters as much, or more', severities, 'min_severity'],
] as const;

function wishesBody({ kind, severity }: Given<typeof wishOptions>) {
  const kinds = kind?.filter((each) => each !== 'all');
  return { kinds: kind?.includes('all') ? null : kinds, min_severity: severity };
}

const add = call('POST /notify/targets', {
  summary: 'have somebody told',
  description:
    'Has somebody told of what is wrong: when it begins, once a day while it lasts, and when it is over. For a webhook it prints the secret that notices are signed with, this once, alone on stdout.',
  examples: [
    'svcctl notify add --webhook https://pager.acme.example/svcctl > secret.txt',
    'svcctl notify add --webhook https://chat.acme.example/in --kind export_done export_failed',
    'svcctl notify add --email ops@acme.example --severity critical',
    'svcctl notify add --email jo@tx.example --tenant TX',
  ],
  options: [
    ['--webhook <url>', 'where notices are posted, https'],
    ['--email <address>', 'where they are mailed, instead of a webhook'],
    ['--tenant <tenant>', 'tell its people, and of its endpoints alone'],
    ...wishOptions,
  ],
  check({ webhook, email }) {
    if ((webhook === undefined) === (email === undefined)) {
      throw usage('Give either --webhook or --email.');
    }
  },
  body({ webhook: url, email: to, tenant, ...wishes }) {
    return {
      kind: url === undefined ? ('email' as const) : ('webhook' as const),
      url,
      to,
      tenant,
      ...wishesBody(wishes),
    };
  },
  prints: ({ secret }) => secret,
  done(_id, made) {
    const secret = made.secret === null ? '' : ' The secret is shown only this once.';
    return `Added ${made.id}: ${addressOf(made)}.${secret}`;
  },
  next: ({ id }) => `try it: svcctl notify test ${id}`,
});

const change = call('PATCH /notify/targets/:id', {
  summary: 'change what somebody is told',
  description: 'Changes what somebody is told, or whether at all.',
  argument,
  examples: [
    'svcctl notify change ntt_4fTq9Zx7Kq2LmN0p --severity critical',
    'svcctl notify change ntt_4fTq9Zx7Kq2LmN0p --kind all',
    'svcctl notify change ntt_4fTq9Zx7Kq2LmN0p --off',
  ],
  options: [...wishOptions, ['--off', 'tell nothing for now'], ['--on', 'tell again']],
  check({ on, off }) {
    if (on && off) throw usage('Give either --on or --off.');
  },
  changes: 'Say what to change: --kind, --severity, --on or --off.',
  body: ({ on, off, ...wishes }) => ({ ...wishesBody(wishes), enabled: on ?? (off && false) }),
  done(id, row) {
    const of = row.kinds === null ? 'everything' : row.kinds?.join(', ');
    return row.enabled
      ? `${id} (${addressOf(row)}) is told of ${of}, from ${row.min_severity} on.`
      : `${id} (${addressOf(row)}) is told nothing for now.`;
  },
});

const rm = call('DELETE /notify/targets/:id', {
  summary: 'tell somebody nothing more',
  description: 'Removes a target. What waits to be sent to it is dropped.',
  argument,
  examples: [
    'svcctl notify rm ntt_4fTq9Zx7Kq2LmN0p',
    'svcctl notify rm ntt_4fTq9Zx7Kq2LmN0p --yes',
  ],
  asks: {
    question: ([id]) => `Remove ${id}? It is told nothing more.`,
    act: 'Remove',
    refused: 'Nothing was removed.',
  },
  done: (id) => `Removed ${id}.`,
});

const test = call('POST /notify/targets/:id/test', {
  summary: 'send a test, and say how it went',
  description: 'Sends a test to a target now, once, and fails when it does not arrive.',
  argument,
  examples: [
    'svcctl notify test ntt_4fTq9Zx7Kq2LmN0p',
    'svcctl notify test ntt_4fTq9Zx7Kq2LmN0p --json',
  ],
  options: [['--json', 'print the answer as JSON']],
  prints: () => null,
  done(id, { delivered, error, duration_ms }) {
    if (delivered) return `The test reached ${id} in ${duration_ms} ms.`;
    throw new AppError('notice_undelivered', { detail: `The test did not reach ${id}: ${error}` });
  },
});

const notice = columnsOf<RouteAnswer<'GET /notify/notices'>['data'][number]>();

const log = list('GET /notify/notices', {
  summary: 'list what was told',
  description: 'Lists what was told, the newest first, also when there was nobody to tell it to.',
  examples: ['svcctl notify log', 'svcctl notify log --json kind,since,ended_at'],
  limit: { rows: 100 },
  columns: [
    notice.word('SEVERITY', 'severity'),
    notice.word('KIND', 'kind', { givesWay: 1 }),
    notice.text('WHAT', 'title', { leastWidth: 24 }),
    notice.ago('SINCE', 'since'),
    notice.ago('OVER', 'ended_at', {
      shown: ({ ended_at: at }, now) => (at === null ? 'no' : formatRelative(at, now)),
    }),
  ],
  below: { none: 'Nothing was told yet.', one: 'notice' },
});

export const notify: Verbs = { add, ls, change, test, log, rm };
