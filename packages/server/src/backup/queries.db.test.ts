import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { findLastBackup } from './queries.ts';
import { endRestore } from './restore-queries.ts';

const db = useTestDatabase();

test('the last backup is the newest that is whole, not one that failed or is under way', async () => {
  expect(await findLastBackup(db)).toBeUndefined();
  await db.query(sql`
    insert into backups (id, place, is_incremental, taken_at, finished_at, records, size_bytes, error_code) values
      ('bak_old', '/b', false, '2026-01-01Z', '2026-01-01T00:05Z', 7, 70, null),
      ('bak_good', '/b', true, '2026-01-02Z', '2026-01-02T00:05Z', 8, 80, null),
      ('bak_failed', '/b', true, '2026-01-03Z', '2026-01-03T00:05Z', null, null, 'segment_damaged'),
      ('bak_running', '/b', true, '2026-01-04Z', null, null, null, null)`);
  expect(await findLastBackup(db)).toEqual({
    id: 'bak_good',
    place: '/b',
    taken_at: '2026-01-02 00:00:00+00',
    finished_at: '2026-01-02 00:05:00+00',
    records: 8,
    size_bytes: 80,
    verified_at: null,
  });
});

test('a restore pauses the replays that were running, and leaves the others as they were', async () => {
  await db.query(sql`
    insert into replays (id, state, tenant, endpoint_id, selection, reported_from, reported_until, keeps_ids,
      ignores_filters, max_attempts, rows_total, created_by)
    select 'rpl_' || state, state, 'T', 'ep_1', 'all', now(), now(), false, false, 8, 0, 'test'
    from unnest(array['running', 'paused', 'completed', 'cancelled']) as state`);
  await endRestore(db, { id: 'bak_1', takenAt: '2026-01-01Z', records: 0, sizeBytes: 0 });
  const rows = await db.query(sql`select id, state, error from replays order by id`);
  expect(rows).toEqual([
    { id: 'rpl_cancelled', state: 'cancelled', error: null },
    { id: 'rpl_completed', state: 'completed', error: null },
    { id: 'rpl_paused', state: 'paused', error: null },
    { id: 'rpl_running', state: 'paused', error: 'The database was restored from a backup' },
  ]);
});
