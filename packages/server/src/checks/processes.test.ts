import { expect, test } from 'vitest';
import { judgeAbsent, judgeClock } from './processes.ts';

test('a clock is told from two seconds on, whichever way it is off', () => {
  const judge = (aheadMillis: number | null) => judgeClock('ours', 'theirs', aheadMillis);
  expect([judge(null), judge(1999), judge(-1999)]).toEqual([[], [], []]);
  expect([...judge(2000), ...judge(-59_999), ...judge(60_000)]).toEqual([
    { severity: 'warning', text: 'ours is 2.0 s ahead of theirs' },
    { severity: 'warning', text: 'ours is 60.0 s behind theirs' },
    { severity: 'critical', text: 'ours is 60.0 s ahead of theirs' },
  ]);
});

const seen = (state: 'live' | 'silent' | 'gone', heardSeconds: number | null) =>
  ({
    ...{ id: 'prc_1', host: 'a', pid: 17, command: 'serve', roles: ['api'], state },
    ...{ since: '2026-03-05T14:00:00Z', seen_at: '2026-03-05T14:07:09Z', silent_seconds: 60 },
    held:
      heardSeconds === null
        ? null
        : { pid: 17, connections: 2, locks: 1, heard_seconds: heardSeconds },
  }) as Parameters<typeof judgeAbsent>[0][number];

test.each<[string, Parameters<typeof seen>, boolean, string[]]>([
  ['that lives', ['live', null], false, []],
  ['that the database heard just now', ['silent', 1], false, []],
  [
    'that has been silent everywhere',
    ['silent', 59],
    false,
    ['1 lock', 'it is frozen', 'kill -9 17'],
  ],
  [
    'that does not run here any more',
    ['silent', 59],
    true,
    ['does not run any more: it was killed'],
  ],
  ['without a connection', ['gone', null], false, ['was killed, or is cut off']],
])('of a process %s what is true now is told', (_name, row, hasEnded, words) => {
  const told = judgeAbsent([seen(...row)], () => hasEnded);
  expect(told).toHaveLength(Math.min(1, words.length));
  for (const word of words) expect(JSON.stringify(told)).toContain(word);
  if (hasEnded) expect(JSON.stringify(told)).not.toContain('kill -9');
});
