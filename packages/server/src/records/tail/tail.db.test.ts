import pino from 'pino';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { bothTiers, ingest } from '../read/testing/walk.ts';
import { createSharedTail } from './tail.ts';

const db = useTestDatabase();
const cold = useColdStore();

test('who waits goes on waiting while the database fails, and the log is told once of each outage', async () => {
  const logged: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) });
  let [failures, isAway] = [0, true];
  const fail = () => {
    failures += 1;
    return db.query(sql`select from no_such_table`);
  };
  const source = {
    db: { ...db, query: ((...call) => (isAway ? fail() : db.query(...call))) as typeof db.query },
    records: bothTiers(db, cold),
  };
  const ending = new AbortController();
  const shared = createSharedTail(source, { stopping: ending.signal, log, awayMillis: 1 });
  for (const outage of [1, 2]) {
    [failures, isAway] = [0, true];
    const news = shared.untilNews('T', ['2000-01-01T00:00:00.000000Z'], ending.signal);
    await expect.poll(() => failures).toBeGreaterThan(2);
    expect(logged).toHaveLength(outage);
    expect(logged.at(-1)).toContain('no_such_table');
    await ingest(db, cold, [numberedRecords('T', 1, () => ({ event_id: `e${outage}` }))]);
    isAway = false;
    await news;
  }
  ending.abort();
});
