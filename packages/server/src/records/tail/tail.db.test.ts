import pino from 'pino';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { bothTiers, ingest } from '../read/testing/walk.ts';
import type { Tier } from '../read/tier.ts';
import { findLastStored } from './queries.ts';
import { readStored } from './read-stored.ts';
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

test('of a cold day only the records of the part are read', async () => {
  const part = (name: string, count: number) =>
    numberedRecords('COLD', count, (n) => ({
      event_id: `${name}${n}`,
      occurred_at: `2001-01-01T00:00:00.${String(n * 399).padStart(6, '0')}Z`,
    }));
  await ingest(db, cold, [part('before', 700)]);
  const before = (await findLastStored(db, 'COLD')) ?? '';
  await ingest(db, cold, [part('own', 3), part('later', 700)]);
  await freeze(db, cold, { tenant: 'COLD', id: 'seg_cold' });
  const tiers = bothTiers(db, cold);
  const read: string[] = [];
  const records: Tier = {
    ...tiers,
    async scan(...asked) {
      const found = await tiers.scan(...asked);
      read.push(...found.rows.map(({ event_id: id }) => id));
      return found;
    },
  };
  const page = await readStored({ db, records }, { tenant: 'COLD', tenants: null }, [before]);
  expect(page.rows).toHaveLength(3);
  expect(read).toEqual(['own0', 'own1', 'own2']);
});
