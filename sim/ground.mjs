import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../bench/lib/postgres.mjs';
import { findRealS3, noRealS3, startRealS3 } from '../packages/server/test/real-s3.mjs';
import { startPgbouncer } from './pgbouncer.mjs';
import { openFolder, openS3 } from './stores.mjs';
import { until } from './world.mjs';

/**
 * What all histories of a run are played on: one PostgreSQL, with a database for each, behind pgbouncer if asked for; and
 * stores in folders, or on the S3 server that is here.
 *
 * @param {any} scope
 * @param {string} dir
 * @param {{ hasPooler: boolean, hasS3: boolean }} options
 */
export async function openGround(scope, dir, { hasPooler, hasS3 }) {
  const server = await startPostgres(scope, dir);
  const cluster = join(dir, 'server', 'postgres');
  const postmaster = () => {
    try {
      return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
    } catch {
      return undefined;
    }
  };
  const s3 = hasS3 ? await startS3(scope) : null;
  let made = 0;
  return {
    /** The folder of its files. */
    dir: cluster,
    createDatabase(own, options) {
      made += 1;
      return server.createDatabase(own, `sim_${made}`, options);
    },
    /** The port at which the service reaches a database. */
    async portOf(own, place, url) {
      if (!hasPooler) return Number(url.port);
      mkdirSync(join(place, 'pgbouncer'));
      const { username: user, password, port } = url;
      const settings = { pool_mode: 'session', default_pool_size: 60 };
      const given = { place: join(place, 'pgbouncer'), user, password, port, settings };
      return startPgbouncer(own, given);
    },
    openStore(own, place) {
      made += 1;
      return s3 === null ? openFolder(join(place, 'store')) : openS3(own, s3, `sim-${made}`);
    },
    /** By kill -9; whoever holds it starts it again. */
    async kill() {
      const pid = postmaster();
      process.kill(pid, 'SIGKILL');
      await until('another PostgreSQL', () => ![pid, undefined].includes(postmaster()));
    },
  };
}

async function startS3(scope) {
  const found = findRealS3();
  if (found === null) throw new Error(noRealS3);
  const real = await startRealS3(found);
  scope.defer(() => real.close());
  return real;
}
