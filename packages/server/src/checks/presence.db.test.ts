import pino from 'pino';
import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { testOnOneServer } from '../../test/one-server.ts';
import { useTestService } from '../../test/service.ts';
import { usualWaits } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import type { ProcessRow } from './contract.ts';
import { createPresence } from './presence.ts';

const service = useTestService({ SVC_ROLES: 'api,retention', SVC_DELIVERY_DAYS: '7' });
let lines: { level: number; msg: string }[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });

const present = (clock = systemClock) =>
  createPresence(service.db, {
    about: {
      version: '9.9.9',
      command: 'serve',
      roles: ['drainer'],
      settings: {},
      dataDir: service.dataDir,
    },
    secretKeys: async () => ['1a2b3c4d'],
    storeState: () => 'own',
    clock,
    log,
    beatMillis: usualWaits.beatMillis,
  });
const list = async (): Promise<ProcessRow[]> =>
  (await service.call('GET', '/status')).json.processes;
/** The tests may run beside much else. */
const until = (is: () => unknown) => vi.waitUntil(is, { timeout: 120_000 });
const find = async (id: string) => (await list()).find((row) => row.id === id);
const silence = (id: string, seconds: number) =>
  service.db.query(sql`
    update processes set seen_at = now() - make_interval(secs => ${seconds}) where id = ${id}`);

test('a process is listed while it runs, with what it does and where', async () => {
  const { json } = await service.call('GET', '/status');
  expect(json.processes).toHaveLength(1);
  const [row] = json.processes;
  expect(row).toMatchObject({
    id: json.process_id,
    pid: process.pid,
    node: process.version,
    url: service.url,
    roles: ['api', 'retention'],
    state: 'live',
    version: json.version,
    settings: { SVC_RETENTION_SCHEDULE: 'off', SVC_BLOB_URL: expect.stringMatching('cold$') },
  });
  // It is the drainer that forgets incidents, so others do not heed the setting.
  expect(row.settings).not.toHaveProperty('SVC_INCIDENT_DAYS');
  expect(row.disk_free_bytes).toBeGreaterThan(0);
  expect(row.disk_total_bytes).toBeGreaterThan(row.disk_free_bytes);
  expect(json.database.migration).toBe(json.database.known_migration);
  expect(json.store.location).toContain('cold');
});

test('a process that stops is not listed any more', async () => {
  const other = present();
  await other.start('http://127.0.0.1:1');
  expect(await find(other.id)).toMatchObject({ state: 'live', version: '9.9.9' });
  await other.stop();
  expect(await find(other.id)).toBeUndefined();
});

test('a process that is not seen is first silent and then gone, until it comes back', async () => {
  const other = present();
  await other.start(null);
  await silence(other.id, 60);
  const silent = await find(other.id);
  expect(silent?.state).toBe('silent');
  expect(Math.floor(silent?.silent_seconds ?? 0)).toBeGreaterThanOrEqual(60);
  await silence(other.id, 600);
  expect((await find(other.id))?.state).toBe('gone');
  other.poke();
  await until(async () => (await find(other.id))?.state === 'live');
  // One that was forgotten is known again with its next beat.
  await service.db.query(sql`delete from processes where id = ${other.id}`);
  other.poke();
  await until(async () => (await find(other.id))?.state === 'live');
  await other.stop();
});

test('tells how far its clock is ahead', async () => {
  const ahead = present(() => systemClock() + 300_000);
  await ahead.start(null);
  const millis = (await find(ahead.id))?.clock_ahead_ms ?? 0;
  // Both are clocks of this machine.
  expect(Math.abs(millis - 300_000)).toBeLessThan(1000);
  await ahead.stop();
});

test('processes that are long gone are forgotten, and of others a hundred are kept', async () => {
  await service.db.query(sql`
    insert into processes (id, host, pid, version, node, roles, settings, seen_at)
    select 'gone-' || n, 'h', n, '1', 'v20', '{drainer}'::text[], '{}'::jsonb, now() - make_interval(mins => n)
    from generate_series(3, 160) n union all
    select 'old', 'h', 1, '1', 'v20', '{drainer}', '{}', now() - interval '25 hours'`);
  const other = present();
  await other.start(null);
  const gone = (await list()).filter(({ state }) => state === 'gone');
  expect(gone).toHaveLength(100);
  expect(gone.map(({ id }) => id)).toContain('gone-3');
  await other.stop();
});

test('a beat that fails is told once, and does not hold up the service', async () => {
  const other = present();
  await other.start(null);
  await service.db.query(sql`alter table processes rename to hidden`);
  lines = [];
  let tries = 0;
  const count = () => {
    tries += 1;
  };
  service.db.pool.on('acquire', count);
  for (const done of [1, 2, 3]) {
    other.poke();
    await until(() => tries === done);
  }
  service.db.pool.off('acquire', count);
  expect((await service.call('GET', '/me')).status).toBe(200);
  await service.db.query(sql`alter table hidden rename to processes`);
  other.poke();
  await until(() => lines.some(({ msg }) => msg.includes('see again')));
  expect(lines.map(({ level }) => level)).toEqual([40, 30]);
  await other.stop();
});

testOnOneServer('a beat leaves the index alone', async () => {
  const other = present();
  await other.start(null);
  const { pool } = service.db;
  const count = async () => {
    // An idle session tells what it counted after ten seconds, unless it is asked, so all of them are.
    const sessions = await Promise.all(
      Array.from({ length: pool.totalCount }, () => pool.connect()),
    );
    for (const session of sessions) await session.query('select pg_stat_force_next_flush()');
    for (const session of sessions) session.release();
    const [row] = await service.db.query<{ hot: number; all: number }>(sql`
      select n_tup_hot_upd as hot, n_tup_upd as all from pg_stat_user_tables where relname = 'processes'`);
    return row ?? { hot: 0, all: 0 };
  };
  const before = await count();
  const seenAt = async () =>
    JSON.stringify(
      await service.db.query(sql`select seen_at from processes where id = ${other.id}`),
    );
  for (let n = 0; n < 10; n += 1) {
    const last = await seenAt();
    other.poke();
    await until(async () => (await seenAt()) !== last);
  }
  await until(async () => (await count()).all >= before.all + 10);
  const { hot, all } = await count();
  expect(all - hot).toBeLessThan((all - before.all) / 2);
  await other.stop();
});
