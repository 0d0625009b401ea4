import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { findLastBackup } from './queries.ts';

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
