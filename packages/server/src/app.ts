import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  createSignInCode,
  findOrMakeSigningKey,
  makeFirstAdminToken,
  readAuditHead,
} from './access/index.ts';
import { createAuditCopies, createSealing } from './app/access.ts';
import { announce, originOf } from './app/announce.ts';
import { openColdTier } from './app/cold-tier.ts';
import {
  createAnalyzing,
  explainFullDisk,
  makeDataDir,
  noteDatabase,
  openOwnDatabase,
  untilReachable,
} from './app/database.ts';
import { createExportJobs } from './app/exports.ts';
import { type Host, openOwnTraces, type State } from './app/host.ts';
import { createHttp, leave, listen, listenForMetrics } from './app/http.ts';
import { createKeys, type Keys } from './app/keys.ts';
import { createProcessMetrics } from './app/metrics.ts';
import { createNotices } from './app/notices.ts';
import { createSumming } from './app/overview.ts';
import { createOwnPresence } from './app/presence.ts';
import { createRetention } from './app/retention.ts';
import { createCounting } from './app/versions.ts';
import {
  createBulkJobs,
  createHoldingBack,
  createReplays,
  createRunReporter,
  startDrainer,
} from './app/webhooks.ts';
import type { Settings } from './config/settings.ts';
import { systemClock } from './kernel/clock.ts';
import type { Log } from './platform/log.ts';
import { distributeSmall, missingOf } from './platform/postgres/distribute.ts';
import { listNewerMigrations, migrate } from './platform/postgres/migrate.ts';
import { createPace, createWaiting } from './platform/work/pace.ts';
import { type Closers, type Cuts, endInTime, stopTogether } from './platform/work/stop.ts';
import { createWakeUp } from './webhooks/index.ts';

export { readAuditCopy } from './app/access.ts';
export { backUp, listPlace, verifyBackup } from './app/backup.ts';
export { examineHere } from './app/examine-here.ts';
export { verifyExport } from './app/exports.ts';
export { listKeys, replaceLostKey, resealAudit, rotateKeys } from './app/keys.ts';
export { lintRecords } from './app/lint.ts';
export {
  checkOwnSchema,
  createLocalToken,
  hasDatabase,
  migrateOwnDatabase,
  recountRecords,
  withCluster,
} from './app/local-commands.ts';
export { restoreBackup } from './app/restore.ts';
export { drainOnce } from './app/webhooks.ts';
export { createLog } from './platform/log.ts';
export { newestMigration } from './platform/postgres/migrate.ts';
export { openImporter } from './records/import/open-file.ts';

/** The running service, as `startService` returns it once requests are answered. */
export type Service = {
  /** The origin on which it listens, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The origin at which people reach it: `SVC_PUBLIC_URL`, or `url` when that is unset. */
  readonly publicUrl: string;
  /** Where the metrics are on a port of their own; null without `SVC_METRICS_PORT`. */
  readonly metricsUrl: string | null;
  readonly adminTokenPath: string;
  /** Whether this start made the first admin token. */
  readonly isFirstStart: boolean;
  /**
   * Makes a link that signs in to the console once and expires after an hour; null when there is no admin token, or when
   * this process has not the role `api`.
   */
  createSignInLink(): Promise<string | null>;
  /**
   * Still serves for `SVC_SHUTDOWN_LEAD_SECONDS` or until `hurry` aborts, while `/readyz` answers 503 and each answer
   * closes its connection. Without the role `api` nobody sends requests here, so it returns at once.
   */
  leave(hurry: AbortSignal): Promise<void>;
  /**
   * Lets running work end and stops everything that was started. What takes too long is cut, and the promise settles
   * within `SVC_SHUTDOWN_SECONDS` at the latest.
   */
  close(): Promise<void>;
};

/**
 * Starts the service with these settings and returns once it is ready. When a step fails or the signal aborts, what was
 * started before is closed again and the error is thrown on.
 */
export async function startService(
  settings: Settings,
  log: Log,
  signal: AbortSignal = new AbortController().signal,
): Promise<Service> {
  const closers: Closers = [];
  const cuts: Cuts = { requests() {}, attempts() {}, database() {} };
  const close = () => endInTime(closers, { millis: settings.shutdownSeconds * 1000, cuts, log });
  try {
    await makeDataDir(settings);
    const db = await openOwnDatabase(settings, log, closers, signal);
    cuts.database = () => db.cut();
    const host = await openHost({ settings, log, db, closers });
    const keys = createKeys(host);
    const presence = createOwnPresence(host, { command: 'serve', keys });
    // Only when all else has ended: until then it may hold what others wait for.
    closers.push(() => presence.stop());
    const retention = createRetention(host);
    const counting = createCounting(host);
    const jobs = createExportJobs(host, createRunReporter(host));
    const [bulkJobs, replays] = [createBulkJobs(host), createReplays(host)];
    const holding = createHoldingBack(host);
    const notices = createNotices(host);
    const copies = createAuditCopies(host);
    const http = createHttp(host, {
      presence,
      retention,
      counting,
      jobs,
      bulkJobs,
      replays,
      notices,
    });
    // They all stop at the same time: a webhook that takes long must not delay the end of requests or of other work.
    const works: { stop(): Promise<unknown> }[] = [{ stop: () => http.fastify.close() }];
    closers.push(() => stopTogether(works, log));
    cuts.requests = () => http.cutConnections();
    await listen(http, host);
    const metricsUrl = await listenForMetrics(host);
    const { adminTokenPath, auditHead } = await untilReachable(settings, { log, signal }, () =>
      prepare(host, keys, signal),
    );
    if (settings.roles.includes('drainer')) {
      const { drainer, forgetting } = startDrainer(host);
      host.wakeUp.attach(drainer);
      cuts.attempts = () => drainer.cut();
      works.push(drainer, forgetting);
    }
    // A process that is only a drainer reads no cold data, so it need not watch the store.
    if (settings.roles.some((role) => role !== 'drainer')) host.cold.watch.start();
    const summing = createSumming(host);
    for (const work of [
      retention,
      counting,
      jobs,
      bulkJobs,
      replays,
      holding,
      summing,
      notices,
      ...copies,
      createSealing(host),
      createAnalyzing(host),
    ]) {
      work.start();
      works.push(work);
    }
    const url = originOf(settings.host, http.fastify.server.address() as AddressInfo);
    await presence.start(url);
    closers.push(await announce(settings.dataDir, url, { log }));
    log.info({ url, roles: settings.roles, auditHead }, 'ready');
    const publicUrl = settings.publicUrl ?? url;
    return {
      url,
      publicUrl,
      metricsUrl,
      adminTokenPath: join(settings.dataDir, 'admin-token'),
      isFirstStart: adminTokenPath !== null,
      createSignInLink: async () => {
        const code = settings.roles.includes('api') ? await createSignInCode(db) : null;
        return code === null ? null : `${publicUrl}/#/sign-in?code=${code}`;
      },
      leave: (hurry) => leave(http, host, hurry),
      close,
    };
  } catch (error) {
    // Why it did not start is what its caller must hear of.
    await close().catch(() => {});
    throw await explainFullDisk(error, settings);
  }
}

/** Opens what everything else stands on. */
async function openHost(own: Pick<Host, 'settings' | 'log' | 'db' | 'closers'>): Promise<Host> {
  const { settings, log, db, closers } = own;
  const state: State = { cursorKey: null, secretBox: null, sealer: null, sealFault: null };
  const metrics = await createProcessMetrics(own, () => cold.watch.state().state);
  const traces = await openOwnTraces(own);
  const wakeUp = createWakeUp(db, (error) => log.warn({ err: error }, 'no drainer was woken'));
  const cold = await openColdTier(settings, { db, log }, closers);
  const waiting = createWaiting();
  return {
    ...own,
    state,
    metrics,
    traces,
    wakeUp,
    cold,
    waiting,
    paceOf: (work) =>
      createPace({
        // Who waits for a connection has a request that waits longer, whatever has taken the connections.
        isAwaited: () => waiting.isAny() || db.waiting() > 0,
        onRest: (seconds) => metrics.observeRest(work, seconds),
      }),
  };
}

/**
 * Migrates the schema, finds or makes the keys and makes the first admin token, if this process has the role `api`: the
 * file would otherwise lie with a drainer, where nobody looks for it. Whatever the start asks of the database is asked
 * here, where an outage is waited for. `adminTokenPath` is that file if it was made just now, otherwise null.
 */
async function prepare(
  { settings, log, db, state }: Pick<Host, 'settings' | 'log' | 'db' | 'state'>,
  keys: Keys,
  signal: AbortSignal,
): Promise<{ adminTokenPath: string | null; auditHead: string }> {
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
  await noteDatabase(settings);
  const first = settings.roles.includes('api')
    ? await makeFirstAdminToken(db, settings.dataDir, systemClock())
    : null;
  if (first !== null && first.kept !== null) {
    log.warn(
      { kept: first.kept },
      'the database has no tokens, but the data folder has the admin token of another one: its file is kept under this name',
    );
  }
  await keys.refresh();
  state.cursorKey = await findOrMakeSigningKey(db, 'cursor', randomBytes(32));
  // Where logs are collected, it stands beyond the reach of whoever could change the audit log.
  return { adminTokenPath: first?.path ?? null, auditHead: await readAuditHead(db) };
}
