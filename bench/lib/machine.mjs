import { cpus, loadavg, platform, release, totalmem } from 'node:os';

/** What the figures were taken on, one line. */
export function describeMachine(postgresVersion) {
  const processors = cpus();
  return [
    `${processors.length} × ${processors[0]?.model.trim() ?? 'unknown processor'}`,
    `${Math.round(totalmem() / 2 ** 30)} GiB memory`,
    `${platform()} ${release()}`,
    `Node ${process.versions.node}`,
    `PostgreSQL ${postgresVersion}`,
    `load before the run ${loadavg()[0].toFixed(1)}`,
  ].join(' · ');
}
