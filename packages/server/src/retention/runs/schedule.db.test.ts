import sql from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { clearRetention } from '../policies/testing/seed.ts';
import { createScheduler, parseSchedule } from './schedule.ts';
import { useRunWorld } from './testing/run-world.ts';

const world = useRunWorld();
beforeEach(() => clearRetention(world.db));

describe('the schedule', () => {
  const schedule = parseSchedule('17 3 * * *');
  if (schedule === null) throw new Error('no schedule');
  let now = 0;
  const clock = () => now;
  const at = (text: string) => {
    now = Date.parse(text);
  };
  const scheduled = async () =>
    (
      await world.db.query<{ at: string }>(sql`
        select to_char(scheduled_for, 'DD HH24:MI') as at from retention_runs order by scheduled_for`)
    ).map((row) => row.at);

  test('queues one run a minute it falls on, however many processes ask', async () => {
    at('2026-03-05T03:16:50Z');
    const processes = [world.db, world.otherDb, world.db].map((each) =>
      createScheduler(each, schedule, { clock }),
    );
    expect(await Promise.all(processes.map((ask) => ask()))).toEqual([false, false, false]);
    at('2026-03-05T03:17:00Z');
    const made = await Promise.all(processes.map((ask) => ask()));
    expect(made.filter(Boolean)).toEqual([true]);
    at('2026-03-05T03:17:02Z');
    expect(await Promise.all(processes.map((ask) => ask()))).toEqual([false, false, false]);
    expect(await scheduled()).toEqual(['05 03:17']);
    expect(
      await world.db.query(sql`select requested_by, tenant, tenants from retention_runs`),
    ).toEqual([{ requested_by: null, tenant: null, tenants: null }]);
  });

  test('makes no second run of a minute when the clock is set back', async () => {
    at('2026-03-05T03:16:59Z');
    const ask = createScheduler(world.db, schedule, { clock });
    at('2026-03-05T03:17:01Z');
    expect(await ask()).toBe(true);
    at('2026-03-05T02:00:00Z');
    expect(await ask()).toBe(false);
    at('2026-03-05T03:17:30Z');
    expect(await ask()).toBe(false);
    at('2026-03-06T03:17:30Z');
    expect(await ask()).toBe(true);
    expect(await scheduled()).toEqual(['05 03:17', '06 03:17']);
  });

  test('makes up for one run after a long sleep, and for none from before the start', async () => {
    at('2026-03-05T03:18:00Z');
    const ask = createScheduler(world.db, schedule, { clock });
    expect(await ask()).toBe(false);
    at('2026-03-09T12:00:00Z');
    expect([await ask(), await ask()]).toEqual([true, false]);
    expect(await scheduled()).toHaveLength(1);
  });

  test('makes up once for the minute that fell into a restart, and queues what else is due', async () => {
    let verifications = 0;
    const start = () =>
      createScheduler(world.db, schedule, {
        clock,
        onScheduled: async () => {
          verifications += 1;
        },
      });
    at('2026-03-05T03:16:00Z');
    const ask = start();
    await ask();
    at('2026-03-05T03:17:00Z');
    expect(await ask()).toBe(true);
    at('2026-03-06T03:20:00Z');
    const restarted = start();
    expect([await restarted(), await restarted(), await start()()]).toEqual([true, false, false]);
    expect(await scheduled()).toEqual(['05 03:17', '06 03:17']);
    expect(verifications).toBe(2);
  });

  test('makes up for the first run of all, if the database is older', async () => {
    await world.db.query(sql`update schema_migrations set applied_at = '2026-03-01'`);
    at('2026-03-05T03:20:00Z');
    expect(await createScheduler(world.db, schedule, { clock })()).toBe(true);
    expect(await scheduled()).toEqual(['05 03:17']);
    await world.db.query(sql`update schema_migrations set applied_at = now()`);
  });

  test('makes up for the last of many minutes, and for none older than a day', async () => {
    const weekly = parseSchedule('17 3 * * SUN');
    const often = parseSchedule('*/20 * * * *');
    if (weekly === null || often === null) throw new Error('no schedule');
    at('2026-03-01T03:16:00Z');
    const ask = createScheduler(world.db, weekly, { clock });
    await ask();
    at('2026-03-01T03:17:00Z');
    await ask();
    at('2026-03-09T03:18:00Z');
    expect(await createScheduler(world.db, weekly, { clock })()).toBe(false);
    const restarts = [1, 2].map(() => createScheduler(world.db, often, { clock }));
    expect(await restarts[0]?.()).toBe(true);
    expect(await restarts[1]?.()).toBe(false);
    expect(await scheduled()).toEqual(['01 03:17', '09 03:00']);
  });

  test('tries a run again that could not be queued', async () => {
    at('2026-03-05T03:16:59Z');
    let isDown = true;
    const flaky: Database = {
      ...world.db,
      transaction: (work) =>
        isDown ? Promise.reject(new AppError('database_unavailable')) : world.db.transaction(work),
    };
    const ask = createScheduler(flaky, schedule, { clock });
    at('2026-03-05T03:17:00Z');
    await expect(ask()).rejects.toThrow('database_unavailable');
    isDown = false;
    at('2026-03-05T03:19:00Z');
    expect(await ask()).toBe(true);
    expect(await scheduled()).toEqual(['05 03:17']);
  });
});
