import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { backUp } from './backup.ts';
import { optionsFor, toolsFor } from './testing/backups.ts';
import {
  contentOf,
  monthsSql,
  passphrase,
  useBackedUp,
  useEmptyDatabase,
} from './testing/restoring.ts';

// One backup and its restore. What else may happen to both: backup.slow.db.test.ts and restore.slow.db.test.ts.

const backups = useBackedUp();
const target = useEmptyDatabase(backups);

const auditSql = sql`select l.place, encode(l.hash, 'hex') as hash, e.id, e.action
  from audit_links l join audit_log e on e.id = l.entry_id order by l.place`;

test('a restored database has all rows, its own store and key, and an audit chain that goes on', async () => {
  const before = await contentOf(backups.service.db);
  expect(before.enrichment_records).toContain('2001-04');
  expect(before.deliveries).not.toBe('');
  const chain = await backups.service.db.query(auditSql);
  await expect(target.restore({ findPassphrase: async () => null })).rejects.toMatchObject({
    code: 'settings_invalid',
    detail: expect.stringContaining('SVC_BACKUP_PASSPHRASE is not set'),
  });
  const restored = await target.restore({ findPassphrase: async () => passphrase });
  expect(restored).toMatchObject({
    id: backups.id,
    records: 130,
    objects_brought: 2,
    secret_key: 'fits',
  });
  expect(restored.deliveries_open).toBe(1);
  expect(restored.verification).toMatchObject({ state: 'completed', problem_count: 0 });
  expect(await contentOf(target.db)).toEqual(before);
  // What readers of Iceberg were told lies in files that no backup has.
  const told = sql`select id from iceberg_snapshots`;
  expect(await backups.service.db.query(told)).not.toEqual([]);
  expect(await target.db.query(told)).toEqual([]);
  const months = await backups.service.db.query(monthsSql);
  expect(months).toMatchObject([{ key: expect.stringContaining('PRIMARY KEY') }]);
  expect(await target.db.query(monthsSql)).toEqual(months);
  const own = await target.db.query<{ action: string }>(auditSql);
  expect(own.slice(0, chain.length)).toEqual(chain);
  expect(own.slice(chain.length).map(({ action }) => action)).toEqual(['backup.restore']);
  const key = join(target.dataDir, 'secret-key');
  expect(await readFile(key, 'utf8')).toBe(
    await readFile(join(backups.service.dataDir, 'secret-key'), 'utf8'),
  );
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  // It is a database of its own, and leaves the backups of the other alone.
  const tools = toolsFor({ DATABASE_URL: target.url, SVC_DATA_DIR: target.dataDir });
  const made = await backUp(tools, optionsFor(backups.place, { keep: 1 }));
  expect(made.removed).toBe(0);
  await rm(join(backups.place, 'backups', made.database), { recursive: true });
  // What was restored once is not restored a second time.
  await expect(target.restore()).rejects.toMatchObject({ code: 'database_not_empty' });
});
