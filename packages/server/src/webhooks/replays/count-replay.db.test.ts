import pino from 'pino';
import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import {
  clearQueue,
  type SeededEndpoint,
  seedEndpoint,
  silentAct,
} from '../dead-letters/testing/seed.ts';
import { createReplay } from './ask-replay.ts';
import { countReplay } from './count-replay.ts';
import { findReplay } from './queries.ts';
import { allOf, filterBy, putData, reportOf } from './testing/reported.ts';

const db = useTestDatabase();
let endpoint: SeededEndpoint;
beforeEach(async () => {
  await clearQueue(db);
  await db.query(sql`delete from incidents`);
  endpoint = await seedEndpoint(db);
});

const log = pino({ level: 'silent' });
/** A clock that says of each look that so much has passed since the one before. */
const clockOf = (stepMillis: number) => {
  let now = 0;
  return () => {
    now += stepMillis;
    return now;
  };
};
const count = (stepMillis: number, hasFilter = false) =>
  countReplay(db, allOf(endpoint), { days: 30, hasFilter, log, clock: clockOf(stepMillis) });
const reportedAt = async (id: string | undefined) => {
  const [row] = await db.query<{ at: string }>(sql`
    select ${instantText('created_at')} as at from incidents where id = ${id}`);
  return row?.at;
};

test('a filter is asked for five seconds before a replay, and what came later is counted as if it passed', async () => {
  const ids = await reportOf(db, 2100);
  await putData(db, ids, (n) => `{"n":${n}}`);
  await filterBy(db, endpoint, 'n >= 1999');
  const counts = { missed: 101, unwanted: 1999 };
  expect(await count(0, true)).toMatchObject({ counts, filteredUntil: null });
  const filteredUntil = await reportedAt(ids[1999]);
  await filterBy(db, endpoint, 'n = 0');
  expect(await count(5000, true)).toMatchObject({ counts, filteredUntil });
});

test('a preview counts for five seconds, and says up to where', async () => {
  const ids = await reportOf(db, 20_001);
  const countedUntil = await reportedAt(ids[19_999]);
  expect(await count(5000)).toMatchObject({ counts: { missed: 20_000 }, countedUntil });
  expect(await count(0)).toMatchObject({ counts: { missed: 20_001 }, countedUntil: null });
  // What is made of such a count tells no total, so it never reads as nearly done.
  const made = { ...silentAct, clock: clockOf(5000), deliveryDays: 30, log, maxAttempts: 8 };
  const call = { ...silentAct, params: { id: endpoint.id }, body: { since: allOf(endpoint).from } };
  const { id } = await createReplay(db, made, call);
  expect(await findReplay(db, null, id)).toMatchObject({ rows_total: null, rows_done: 0 });
});
