import pino from 'pino';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { blocksOf, testOnOneServer } from '../../../test/one-server.ts';
import type { Database } from '../../platform/postgres/database.ts';
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
  const shared = createSharedTail(source, {
    stopping: ending.signal,
    log,
    lookMillis: 10,
    awayMillis: 1,
  });
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

testOnOneServer('a late record of a part costs as much as any other', async () => {
  const at = (seconds: number) => new Date(Date.UTC(2001, 1, 1, 0, 0, seconds)).toISOString();
  const part = (name: string, count: number, secondsOf: (n: number) => number) =>
    numberedRecords('LATE', count, (n) => ({
      event_id: `${name}${n}`,
      occurred_at: at(secondsOf(n)),
    }));
  await ingest(db, cold, [part('before', 9000, (n) => 2 * n)]);
  const records = bothTiers(db, cold);
  // Few records are inserted, many are copied.
  for (const [name, count] of [
    ['few', 20],
    ['many', 600],
  ] as const) {
    const before = (await findLastStored(db, 'LATE')) ?? '';
    await ingest(db, cold, [part(name, count, (n) => (n === 0 ? 60 : 18_000))]);
    const read = async (counted: Database) => {
      const slice = { tenant: 'LATE', tenants: null };
      const { rows } = await readStored({ db: counted, records }, slice, [before]);
      expect(rows.map(({ record }) => record.event_id)).toContain(`${name}0`);
    };
    const { enrichment_records_2001_02: blocks } = await blocksOf(db, read);
    expect(blocks).toBeLessThan(40);
  }
});
