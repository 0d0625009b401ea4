import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../bench/lib/postgres.mjs';
import { until } from './world.mjs';

/** The PostgreSQL on which all histories of a run are played, each in a database of its own. */
export async function openGround(scope, dir) {
  const server = await startPostgres(scope, dir);
  const cluster = join(dir, 'server', 'postgres');
  const postmaster = () => {
    try {
      return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
    } catch {
      return undefined;
    }
  };
  let made = 0;
  return {
    /** The folder of its files. */
    dir: cluster,
    createDatabase(own) {
      made += 1;
      return server.createDatabase(own, `sim_${made}`);
    },
    /** By kill -9; whoever holds it starts it again. */
    async kill() {
      const pid = postmaster();
      process.kill(pid, 'SIGKILL');
      await until('another PostgreSQL', () => ![pid, undefined].includes(postmaster()));
    },
  };
}
