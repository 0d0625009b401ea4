import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { createLog } from '../../platform/log.ts';
import { pruneHistory } from './moves.ts';

const db = useTestDatabase();
beforeEach(async () => {
  await db.query(sql`truncate moves, move_segments, move_days, object_removals, retention_runs,
    verifications, erasures`);
});

const log = createLog('silent');
const prune = (days = 400, signal = new AbortController().signal) =>
  pruneHistory(db, { days, log, signal });

async function addMove(
  id: string,
  days: number,
  more: { state?: string; run?: string; kind?: string } = {},
) {
  const { state = 'removed', run = null, kind = 'move' } = more;
  await db.query(sql`
    insert into moves (tenant, id, run_id, kind, state, first_day, last_day, runner, planned_at,
      removed_at, failed_at)
    select 'TX', ${id}, ${run}, ${kind}, ${state}, '2001-01-01', '2001-01-01', 'r', at,
      case when ${state} = 'removed' then at end, case when ${state} = 'failed' then at end
    from (select now() - make_interval(days => ${days}) as at) given`);
  await db.query(sql`
    insert into move_segments (tenant, move_id, segment_id, role, object_key)
    values ('TX', ${id}, ${`seg_${id}`}, 'out', ${`key_${id}`})`);
  await db.query(sql`
    insert into move_days (tenant, move_id, store, day, count, bytes, digest)
    values ('TX', ${id}, 'A', '2001-01-01', 1, 1, 1)`);
}
async function addRun(id: string, days: number, state = 'completed') {
  await db.query(sql`
    insert into retention_runs (id, state, requested_at, finished_at)
    select ${id}, ${state}, at, case when ${state} = 'completed' then at end
    from (select now() - make_interval(days => ${days}) as at) given`);
}
async function addVerification(id: string, days: number, state = 'completed') {
  await db.query(sql`
    insert into verifications (id, state, requested_by, requested_at, finished_at)
    select ${id}, ${state}, 'test', at, case when ${state} = 'completed' then at end
    from (select now() - make_interval(days => ${days}) as at) given`);
}
async function left() {
  const [row] = await db.query(sql`
    select (select array_agg(id order by id) from moves) as moves,
      (select array_agg(move_id order by move_id) from move_segments) as segments,
      (select array_agg(move_id order by move_id) from move_days) as days,
      (select array_agg(id order by id) from retention_runs) as runs,
      (select array_agg(id order by id) from verifications) as verifications`);
  return row;
}

test('what ended long ago is forgotten, with its parts; what is younger stays', async () => {
  await addMove('m1', 500);
  await addMove('m2', 401, { state: 'failed' });
  await addMove('m3', 399);
  await addRun('r1', 500);
  await addRun('r2', 399);
  await addVerification('v1', 500);
  await addVerification('v2', 399);
  await prune();
  const moves = ['m3'];
  expect(await left()).toEqual({
    moves,
    segments: moves,
    days: moves,
    runs: ['r2'],
    verifications: ['v2'],
  });
});

test('an erasure stays, of which a receipt tells, and no other one', async () => {
  await addMove('m1', 500, { kind: 'erase' });
  await addMove('m2', 500, { kind: 'erase' });
  await db.query(sql`insert into erasures (id, tenant, receipt) values ('m2', 'TX', '{}')`);
  await addMove('m3', 399);
  await prune();
  expect(await left()).toMatchObject({ moves: ['m2', 'm3'], segments: ['m2', 'm3'] });
});

test('what is not over, what something refers to, and the last of each stay', async () => {
  await addRun('r1', 900);
  await addRun('r2', 890, 'running');
  await addRun('r3', 880);
  await addMove('m1', 900, { state: 'switched', run: 'r1' });
  await addMove('m2', 890);
  await db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    values ('TX', 'key', 'm2', now() + interval '1 day')`);
  await addMove('m3', 880, { state: 'failed' });
  await addVerification('v1', 900, 'running');
  await addVerification('v2', 890);
  const before = await left();
  await prune();
  expect(await left()).toEqual(before);
});

test('more than a batch goes in one call, and an abort ends it', async () => {
  await db.query(sql`
    insert into moves (tenant, id, kind, state, first_day, last_day, runner, planned_at, removed_at)
    select 'TX', 'm' || n, 'move', 'removed', '2001-01-01', '2001-01-01', 'r',
      now() - (500 + n) * interval '1 day', now() - (500 + n) * interval '1 day'
    from generate_series(1, 2500) n`);
  const reason = new Error('enough');
  await expect(prune(400, AbortSignal.abort(reason))).rejects.toBe(reason);
  await prune();
  expect(await left()).toMatchObject({ moves: ['m1'] });
});
