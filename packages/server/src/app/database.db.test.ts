import sql from 'sql-template-tag';
import { expect, vi } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { testOnOneServer } from '../../test/one-server.ts';
import { startTestService } from '../../test/service.ts';

const db = useTestDatabase();

const records = Array.from({ length: 2000 }, (_, n) => ({
  tenant: 'T',
  store: 'S',
  event_id: `e-${n}`,
  occurred_at: '2001-03-01T00:00:00Z',
  enrichment: { n },
}));

testOnOneServer(
  'a role that owns its database needs no other right, nor to make temporary tables',
  async () => {
    const own = `${new URL(db.url).pathname.slice(1)}_own`;
    const url = Object.assign(new URL(db.url), {
      username: own,
      password: 'secret',
      pathname: `/${own}`,
    });
    try {
      await db.pool.query(`create role ${own} login password 'secret'`);
      await db.pool.query(`create database ${own} owner ${own}`);
      await db.pool.query(`revoke temporary on database ${own} from public, ${own}`);
      await useEverything(url.href);
      const [rights] = await db.query(sql`
      select has_database_privilege(${own}, ${own}, 'temporary') as may_make_temporary,
        (select rolsuper from pg_roles where rolname = ${own}) as is_superuser`);
      expect(rights).toEqual({ may_make_temporary: false, is_superuser: false });
    } finally {
      await db.pool.query(`drop database if exists ${own} with (force)`);
      await db.pool.query(`drop role if exists ${own}`);
    }
  },
);

/** Stores, exports and moves records, and exports them again. */
async function useEverything(url: string): Promise<void> {
  const service = await startTestService({ DATABASE_URL: url });
  try {
    const file = async () =>
      (await service.call('POST', '/exports/ndjson', { body: { tenant: 'T' } })).text;
    const store = (some: object[]) =>
      service.call('POST', '/enrichment/records', { body: { records: some } });
    // One, few and many records are each stored in a way of their own.
    for (const some of [records.slice(0, 1), records.slice(0, 9), records]) await store(some);
    const before = await file();
    expect(before.trim().split('\n')).toHaveLength(records.length);
    const job = await service.call('POST', '/exports/csv', {
      body: { tenant: 'T' },
      headers: { prefer: 'respond-async' },
    });
    const state = async () => (await service.call('GET', `/exports/${job.json.id}`)).json.state;
    await vi.waitFor(async () => expect(await state()).toBe('completed'), { timeout: 120_000 });
    expect(await service.retain()).toMatchObject({ state: 'completed', moved_count: 2000 });
    expect(await file()).toBe(before);
  } finally {
    await service.stop();
  }
}
