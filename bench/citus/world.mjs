import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../lib/client.mjs';
import { treeCpuMillis } from '../lib/cpu.mjs';
import { connect } from '../lib/postgres.mjs';
import { startService } from '../lib/service.mjs';
import { startCluster } from './cluster.mjs';

const settings = {
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  SVC_RETENTION_SCHEDULE: 'off',
  SVC_COLD_GRACE_SECONDS: '0',
  SVC_ROLES: 'api,retention,exports',
};

/** A service on one server and one on a cluster, each with what measures the CPU time of its servers. */
export async function startWorld({ scope, dir, postgres, binDir, say }) {
  say('starting a cluster');
  const cluster = await startCluster(scope, { dir: join(dir, 'citus'), binDir });
  const plain = {
    url: await postgres.createDatabase(scope, 'bench_citus'),
    dataDirs: [join(dir, 'server')],
  };
  const sides = [];
  for (const [name, { url, dataDirs }] of Object.entries({ plain, citus: cluster })) {
    const options = { dir, name, databaseUrl: url, settings };
    const service = await startService(scope, options);
    const pids = dataDirs.map(readPid);
    const cpuMillis = () => pids.reduce((sum, pid) => sum + treeCpuMillis(pid), 0);
    const db = await connect(scope, url);
    sides.push({
      ...{ name, databaseUrl: url, service, db, cpuMillis },
      client: createClient(scope, service),
    });
  }
  return { sides };
}

function readPid(dataDir) {
  return Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** Runs `work`, which answers how many units it did; the wall time and PostgreSQL's CPU time of it. */
export async function measure({ cpuMillis }, work) {
  const cpuBefore = cpuMillis();
  const startedAt = performance.now();
  const units = await work();
  const elapsedMillis = performance.now() - startedAt;
  return { perSecond: (units / elapsedMillis) * 1000, cpu: (cpuMillis() - cpuBefore) / units };
}
