import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/database.ts';
import { loadSettings } from '../config/settings.ts';
import type { StoreState } from '../kernel/values.ts';
import { lookAround } from './look.ts';

const db = useTestDatabase();

/** A process that was seen so many seconds ago. */
async function join(id: string, storeState: StoreState | null, secondsAgo = 0): Promise<void> {
  await db.query(sql`
    insert into processes (id, host, pid, version, node, command, roles, settings, store_state, seen_at)
    values (${id}, 'other', 1, '0.1.0', 'v20', 'serve', '{api}', '{}', ${storeState},
      now() - make_interval(secs => ${secondsAgo}))`);
}

/** What a process finds that sees the store so. */
const findAs = (state: StoreState) =>
  lookAround(db, {
    settings: loadSettings({}),
    db,
    cold: { watch: { state: () => ({ state, marked: null, problem: null }) }, store: {} },
  });

test('each process tells of a store that any live one cannot use, and of what is left there', async () => {
  await db.query(sql`
    insert into object_removals (tenant, object_key, move_id, remove_after)
    values ('TX', 'records/TX', 'mov_1', now() - interval '1 hour')`);
  await join('well', 'own');
  await join('silent', null);
  await join('gone', 'unavailable', 3600);
  expect(await findAs('own').storeProblems()).toEqual([]);
  expect(await findAs('read_only').overdueRemovals()).toBe(1);
  await join('troubled', 'unavailable');
  for (const state of ['own', 'unavailable'] as const) {
    expect(await findAs(state).storeProblems()).toEqual(['the store of cold data cannot be used']);
  }
  await db.query(sql`truncate processes`);
  expect(await findAs('read_only').overdueRemovals()).toBe(0);
});
