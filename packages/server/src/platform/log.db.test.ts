import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
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
