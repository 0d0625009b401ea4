import { benchBackups } from './backup/backups.mjs';
import { findPrograms } from './backup/programs.mjs';
import { sizes } from './backup/sizes.mjs';
import { startWorld } from './backup/world.mjs';
import { startPostgres } from './lib/postgres.mjs';
import { runSections } from './lib/run-sections.mjs';

/** Backup and restore of hot records against pg_dump and pg_restore, on the PostgreSQL that these belong to. */
export async function runBench({ size, only }) {
  const binDir = await findPrograms();
  return runSections(
    {
      name: 'backup',
      sections: { backups: (bench) => benchBackups({ ...bench, binDir }) },
      sizes,
      start: startWorld,
      startServer: (scope, dir) => startPostgres(scope, dir, { binDir }),
    },
    { size, only },
  );
}
