import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { forgetHistory } from './forget.ts';
import { forgetJobs } from './queries.ts';

const db = useTestDatabase();
beforeEach(async () => {
  await db.query(sql`truncate deliveries, delivery_attempts, incidents, incident_keys`);
});

const never = new AbortController().signal;
const forget = () => forgetHistory(db, { days: 30, incidentDays: 0 }, never, 3);
let number = 0;

/** A delivery with an attempt and an incident, made and ended so many days ago. */
async function addDelivery(status: string, madeDays: number, endedDays: number): Promise<string> {
  number += 1;
  const id = `dlv_00${String(number).padStart(18, '0')}`;
  const incident = `inc_${number}`;
  await db.query(sql`
    insert into incidents (id, tenant, type, occurred_at, body, created_at)
    values (${incident}, 'TX', 'incident.created', now(), '{}', now() - make_interval(days => ${madeDays}))`);
  await db.query(sql`
    insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target,
      idempotency_key, status, attempts, max_attempts, next_attempt_at, created_at, finished_at)
    values (0, ${id}, ${incident}, 'ep_1', 'TX', 'incident.created', 'https://a.example/', ${id},
      ${status}, 1, 8, case when ${status} in ('queued', 'pending') then now() end,
      now() - make_interval(days => ${madeDays}), now() - make_interval(days => ${endedDays}))`);
  await db.query(sql`
    insert into delivery_attempts (lane, delivery_id, number, started_at, duration_ms, target)
    values (0, ${id}, 1, now(), 1, 'https://a.example/')`);
  return id;
}

async function idsLeft(): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`select id from deliveries order by id`);
  return rows.map((row) => row.id);
}

async function count(table: 'incidents' | 'delivery_attempts' | 'incident_keys'): Promise<number> {
  const { rows } = await db.pool.query(`select count(*) as count from ${table}`);
  return rows[0].count;
}

test('forgets what ended long ago, with its attempts and its incident', async () => {
  for (let n = 0; n < 10; n += 1) await addDelivery('delivered', 40, 40);
  await addDelivery('discarded', 40, 31);
  const kept = [await addDelivery('delivered', 20, 20), await addDelivery('delivered', 40, 29)];
  await forget();
  expect(await idsLeft()).toEqual(kept);
  expect(await count('incidents')).toBe(2);
  expect(await count('delivery_attempts')).toBe(2);
});

test('never forgets what is not delivered, however old', async () => {
  const kept: string[] = [];
  for (const status of ['queued', 'pending', 'abandoned']) {
    kept.push(await addDelivery(status, 400, 400));
    await addDelivery('delivered', 400, 400);
  }
  await forget();
  expect(await idsLeft()).toEqual(kept);
  expect(await count('incidents')).toBe(3);
});

test('keeps what an idempotency key that still counts is answered with', async () => {
  const kept = await addDelivery('delivered', 2, 2);
  await addDelivery('delivered', 2, 2);
  await db.query(sql`
    insert into incident_keys (tenant, idempotency_key, incident_id, digest, created_at)
    select 'TX', 'key', incident_id, '\\x00', now() - interval '2 days' from deliveries where id = ${kept}`);
  await forgetHistory(db, { days: 1, incidentDays: 0 }, never, 3);
  expect(await idsLeft()).toEqual([kept]);
});

test('keeps all that an old key is answered with while one of it cannot be forgotten', async () => {
  const [delivered, abandoned] = [
    await addDelivery('delivered', 40, 40),
    await addDelivery('abandoned', 40, 40),
  ];
  const incident = `inc_${number}`;
  await db.query(sql`update deliveries set incident_id = ${incident}`);
  const addKey = sql`
    insert into incident_keys (tenant, idempotency_key, incident_id, digest, created_at)
    values ('TX', 'key', ${incident}, '\\x00', now() - interval '40 days')`;
  await db.query(addKey);
  await forget();
  expect(await idsLeft()).toEqual([delivered, abandoned]);
  await db.query(sql`
    update deliveries set status = 'discarded', next_attempt_at = null where id = ${abandoned}`);
  await forget();
  expect(await idsLeft()).toEqual([]);
  expect(await count('incident_keys')).toBe(0);
});

test('forgets idempotency keys after 30 days, and not before the deliveries that they name', async () => {
  await addDelivery('abandoned', 40, 40);
  const kept = `inc_${number}`;
  await db.query(sql`
    insert into incident_keys (tenant, idempotency_key, incident_id, digest, created_at)
    values ('TX', 'old', 'inc_x', '\\x00', now() - interval '31 days'),
      ('TX', 'kept', ${kept}, '\\x00', now() - interval '40 days'),
      ('TX', 'other', ${kept}, '\\x00', now() - interval '400 days'),
      ('TX', 'new', 'inc_y', '\\x00', now() - interval '29 days')`);
  await db.query(sql`
    insert into incident_keys (tenant, idempotency_key, incident_id, digest, created_at)
    select 'TX', 'of a batch ' || n, 'inc_x', '\\x00', now() - interval '401 days' from generate_series(1, 7) n`);
  await forget();
  const rows = await db.query(sql`select idempotency_key from incident_keys order by 1`);
  expect(rows).toEqual([
    { idempotency_key: 'kept' },
    { idempotency_key: 'new' },
    { idempotency_key: 'other' },
  ]);
});

test('forgets bulk retries that ended long ago, and none that has not', async () => {
  await db.query(sql`
    insert into dead_letter_jobs (id, action, state, rows_total, created_by, finished_at)
    select id, 'retry', state, 1, 'test', case when state <> 'paused' then now() - days * interval '1 day' end
    from (values ('j1', 'completed', 500), ('j2', 'cancelled', 401), ('j3', 'completed', 399),
      ('j4', 'paused', 500)) given (id, state, days)`);
  await forgetJobs(db, 400);
  expect(await db.query(sql`select id from dead_letter_jobs order by id`)).toEqual([
    { id: 'j3' },
    { id: 'j4' },
  ]);
});
