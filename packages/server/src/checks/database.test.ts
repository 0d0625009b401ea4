import { expect, test } from 'vitest';
import { judgeConnections, judgeLocks, judgeStatements, judgeVacuum } from './database.ts';

const severities = (wrong: readonly { severity?: string }[]) => wrong.map((each) => each.severity);

test('connections are told when few are left', () => {
  expect(judgeConnections({ used: 79, most: 100 })).toEqual([]);
  expect(severities(judgeConnections({ used: 80, most: 100 }))).toEqual(['warning']);
  expect(severities(judgeConnections({ used: 95, most: 100 }))).toEqual(['critical']);
});

test('the table of locks is told when it is small for the months, or filling up', () => {
  const table = { room: 6400, used: 40, months: 120, per_transaction: 64 };
  expect(judgeLocks(table)).toEqual([]);
  expect(judgeLocks({ ...table, months: 160 })).toMatchObject([
    { text: expect.stringContaining('room for 19 statements') },
  ]);
  // Twice the months and 256 more is enough in any case, as docs/operations.md has it.
  expect(judgeLocks({ ...table, months: 160, per_transaction: 576 })).toEqual([]);
  expect(judgeLocks({ ...table, months: 160, per_transaction: 575 })).toHaveLength(1);
  expect(severities(judgeLocks({ ...table, used: 3201 }))).toEqual(['critical']);
});

test('autovacuum is told when it is off, or leaves dead rows and old transactions', () => {
  expect(judgeVacuum({ isOn: true, tables: [], ages: [] })).toEqual([]);
  const told = judgeVacuum({
    isOn: false,
    tables: [{ name: 'deliveries', dead: 250_000, live: 10 }],
    ages: [
      { name: 'leaf_days', age: 700_000_000 },
      { name: 'moves', age: 1_500_000_000 },
    ],
  });
  expect(severities(told)).toEqual(['critical', undefined, 'warning', 'critical']);
  expect(told[1]?.text).toContain('deliveries has 250,000 dead rows beside 10 live ones');
});

test('statements are told that are slow again and again', () => {
  const slow = { text: 'select 1', count: 4, totalMillis: 9000, maxMillis: 3000 };
  expect(judgeStatements([slow])).toEqual([]);
  expect(judgeStatements([{ ...slow, count: 5 }])).toEqual([
    { text: '5 slow answers, 9.0 s in all and 3.0 s at most: select 1' },
  ]);
});
