import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { useS3 } from '../../test/s3.ts';
import { startTestService, type TestService } from '../../test/service.ts';

const prefix = 'run';
const s3 = useS3();
let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    SVC_ROLES: 'api,retention',
    SVC_BLOB_URL: s3.urlOf(prefix),
    SVC_HISTORY_DAYS: '400',
    SVC_AUDIT_DAYS: '400',
  });
});
afterAll(async () => {
  await service.stop();
});

async function left() {
  const [row] = await service.db.query(sql`
    select (select count(*) from moves where id = 'mov_old') as moves,
      (select count(*) from audit_log where token_name = 'old') as entries,
      (select count(*) from object_removals) as removals`);
  return { ...row, uploads: (await s3.openUploads()).length };
}

const text = 'many words '.repeat(150);
const records = Array.from({ length: 300 }, (_, n) => ({
  tenant: 'T',
  store: 'S',
  event_id: `e-${n}`,
  occurred_at: '2001-03-01T00:00:00Z',
  enrichment: { text: `${n} ${text}` },
}));

test('a run moves what is due, gives its space back, and removes what is too old to be kept, or of no use', async () => {
  await service.call('POST', '/enrichment/records', { body: { records } });
  await service.db.query(sql`
    insert into moves (tenant, id, kind, state, first_day, last_day, runner, planned_at, removed_at)
    values ('T', 'mov_old', 'move', 'removed', '2001-01-01', '2001-01-01', 'r',
      now() - interval '500 days', now() - interval '500 days'),
      ('T', 'mov_late', 'move', 'removed', '2001-01-02', '2001-01-02', 'r', now(), now())`);
  await service.db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    values ('T', 'records/none', 'mov_late', now())`);
  // All entries so far are made old ones, because only the beginning of the log can be removed.
  await service.db.query(sql`
    update audit_log set at = now() - interval '500 days', token_name = 'old'`);
  expect(await left()).toMatchObject({ moves: 1, entries: 1 });
  const name = (day: string) => `records/tenant=T/${day}_${day}_seg_left.parquet`;
  await s3.beginUpload(prefix, name('2001-01-01'), new Date(Date.now() - 48 * 3_600_000));
  await s3.beginUpload(prefix, name('2001-01-02'));

  const ended = await service.retain();
  expect(ended).toMatchObject({ state: 'completed', moved_count: 300 });
  expect(ended.freed_bytes).toBeGreaterThan(100_000);
  // That comes after the run.
  const wanted = { moves: 0, entries: 0, removals: 0, uploads: 1 };
  await vi.waitFor(async () => expect(await left()).toEqual(wanted), { timeout: 120_000 });
});
