import { randomBytes } from 'node:crypto';
import { findOrMakeSigningKey, makeFirstAdminToken } from '../access/index.ts';
import { systemClock } from '../kernel/clock.ts';
import { distributeSmall, missingOf } from '../platform/postgres/distribute.ts';
import { listNewerMigrations, migrate } from '../platform/postgres/migrate.ts';
import type { Host } from './host.ts';
import type { Keys } from './keys.ts';

/**
 * Migrates the schema, finds or makes the keys and makes the first admin token, if this process has the role `api`: the
 * file would otherwise lie with a drainer, where nobody looks for it. Returns the path of that file if it was made just
 * now, otherwise null.
 */
export async function prepare(
  { settings, log, db, state }: Pick<Host, 'settings' | 'log' | 'db' | 'state'>,
  keys: Keys,
  signal: AbortSignal,
): Promise<string | null> {
  await migrate(db, signal);
  const cluster = await distributeSmall(db);
  if (cluster !== null && missingOf(cluster).length > 0) {
    log.warn(
      { citus: cluster.version, workers: cluster.workers },
      'the database is a Citus cluster whose workers have no tables of svcctl: svcctl database distribute',
    );
  }
  const newer = await listNewerMigrations(db);
  if (newer.length > 0)
    log.warn({ newer }, 'the database belongs to a newer release, beside which this one can work');
  const path = settings.roles.includes('api')
    ? await makeFirstAdminToken(db, settings.dataDir, systemClock())
    : null;
  await keys.refresh();
  state.cursorKey = await findOrMakeSigningKey(db, 'cursor', randomBytes(32));
  return path;
}
