import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { AppError } from '../kernel/errors.ts';
import { createLog } from './log.ts';

const db = useTestDatabase();

test('an error of the database is told without the row that it quotes', async () => {
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => void lines.push(line) });
  await db.query(sql`create table people (id text primary key, name text check (name <> 'kim'))`);
  await db.query(sql`insert into people values ('4711', 'zoe')`);
  for (const row of [sql`'1', 'kim'`, sql`'4711', 'zoe'`]) {
    const error = await db.query(sql`insert into people values (${row})`).catch((each) => each);
    log.error({ err: error }, 'it failed');
  }
  expect(lines[0]).toContain('people_name_check');
  expect(lines[1]).toContain('people_pkey');
  expect(lines.join()).not.toMatch(/kim|4711|zoe/);
});

test('of an outage each kind of line is written once a minute, with how many it stands for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const lines: string[] = [];
    const listening = process.listenerCount('exit');
    const log = createLog('warn', { write: (line) => void lines.push(line) });
    const told = () => lines.splice(0).map((line) => JSON.parse(line));
    const away = () => new AppError('database_unavailable', { cause: new Error('connect') });
    const fail = () => {
      log.child({ reqId: 'req_1' }).warn({ code: 'database_unavailable', cause: 'x' }, 'refused');
      log.warn({ err: away(), job: 'exp_1' }, 'a job waits');
      log.error({ err: new Error('a mistake') }, 'a job waits');
    };
    for (let n = 0; n < 100; n += 1) fail();
    const begun = told();
    expect(begun.filter(({ msg, level }) => msg === 'refused' || level === 40)).toMatchObject([
      { reqId: 'req_1', msg: 'refused' },
      { job: 'exp_1', msg: 'a job waits', err: { type: 'AppError' } },
    ]);
    // Nothing else is held back.
    expect(begun.filter(({ level }) => level === 50)).toHaveLength(100);
    vi.advanceTimersByTime(60_000);
    expect(told()).toMatchObject([
      { reqId: 'req_1', msg: 'refused', lines: 99 },
      { job: 'exp_1', msg: 'a job waits', lines: 99, err: { type: 'AppError' } },
    ]);
    fail();
    expect(told()).toMatchObject([{ level: 50 }]);
    vi.advanceTimersByTime(60_000);
    expect(told()).toMatchObject([{ lines: 1 }, { lines: 1 }]);
    vi.advanceTimersByTime(60_000);
    // The next outage is told at once, and what is held when the process exits, then.
    fail();
    expect(told()).toHaveLength(3);
    expect(process.listeners('exit')).toHaveLength(listening + 1);
    fail();
    told();
    process.listeners('exit').at(-1)?.(0);
    expect(told()).toMatchObject([{ lines: 1 }, { lines: 1 }]);
    vi.advanceTimersByTime(120_000);
    expect(process.listeners('exit')).toHaveLength(listening);
  } finally {
    vi.useRealTimers();
  }
});
