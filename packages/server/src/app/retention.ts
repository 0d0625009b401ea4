import { endApprovals, pruneAudit } from '../access/index.ts';
import { openPlace, removeKeys } from '../backup/index.ts';
import type { Settings } from '../config/settings.ts';
import { listGoneDeliveries, listGoneDownloads, noteGoneExports } from '../exports/index.ts';
import { addIcebergRoutes, sweepSnapshots } from '../iceberg/index.ts';
import { systemClock } from '../kernel/clock.ts';
import { createGate } from '../kernel/gate.ts';
import { newId } from '../kernel/ids.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Connection } from '../platform/postgres/database.ts';
import { unpaced } from '../platform/work/pace.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { stopTogether } from '../platform/work/stop.ts';
import {
  endCountsOf,
  type Gone,
  type GoneEffects,
  noteGoneRecords,
  removeErasedTags,
} from '../records/index.ts';
import {
  addAdoptRoute,
  addEraseRoutes,
  addImportRoutes,
  addRetentionRoutes,
  addVerifyRoutes,
  createDayImporter,
  createEraser,
  deleteTenant,
  endOldUploads,
  giveBackSpace,
  type MoverContext,
  moveTenant,
  parseSchedule,
  pruneHistory,
  removeDueKeys,
  removeObjects,
  scheduleVerification,
  startRunner,
  startVerifications,
  tenantsAtOnce,
} from '../retention/index.ts';
import { createIncidentEraser } from '../webhooks/index.ts';
import { auditCopiesOf } from './access.ts';
import { type Host, readNotes, routeTools, sealerIn } from './host.ts';
import { removes } from './look.ts';

/** Retention runs and verifications. They run only in a process that has the role `retention`. */
export type Retention = Work & {
  /** What moves need. Erasures use it too, and they happen in every process that serves the API. */
  readonly mover: MoverContext;
};

/** Throws `settings_invalid` when `SVC_RETENTION_SCHEDULE` is not a schedule. */
export function createRetention(host: Host): Retention {
  const { settings, log, db, cold, paceOf } = host;
  const schedule = parseSchedule(settings.retentionSchedule);
  const mover: MoverContext = {
    db,
    duckdb: cold.moverDuckdb,
    store: cold.store,
    fence: cold.fence,
    spoolDir: cold.spoolDir,
    runner: newId('mover'),
    graceSeconds: settings.coldGraceSeconds,
    log,
    pace: paceOf('moves'),
    turns: createGate(tenantsAtOnce),
    onGone,
    removeKeys: keyRemoval(settings, cold.spoolDir),
  };
  const startRuns = () =>
    startRunner(db, {
      // If this is a copy of a database that is in use elsewhere, one of the two is stopped here, before it writes
      // anything.
      begin: (signal) => cold.fence.advance(signal),
      tenantsAtOnce,
      moveTenant(job) {
        // The first page of what becomes cold need not wait for the start of the process that reads it.
        if (settings.roles.includes('api')) cold.duckdb.run('select 1').catch(() => {});
        return moveTenant(mover, job);
      },
      deleteTenant: (job) => deleteTenant(mover, job),
      giveBackSpace: (signal) => giveBackSpace(db, { log, signal }),
      async prune(signal) {
        const { historyDays, auditDays } = settings;
        if (historyDays > 0) await pruneHistory(db, { days: historyDays, log, signal });
        await endApprovals(db);
        if (auditDays > 0)
          await pruneAudit(db, {
            days: auditDays,
            copiedTo: auditCopiesOf(settings),
            signal,
            sealer: sealerIn(host),
          });
        await endOldUploads(cold, { clock: systemClock, log, signal });
        await sweepSnapshots(mover, { log, signal, now: systemClock });
      },
      removeObjects: async (signal) => {
        try {
          await removeObjects(mover, signal);
        } finally {
          await removeDueKeys(mover, signal);
        }
      },
      schedule,
      async onScheduled(connection) {
        if (settings.verifyDays > 0) await scheduleVerification(connection, settings.verifyDays);
      },
      clock: systemClock,
      log,
    });
  return {
    mover,
    ...startLater(settings.roles.includes('retention'), () => {
      const works = [
        // A read-only process may verify segments, but it moves and removes nothing.
        ...(cold.fence.isReadOnly ? [] : [startRuns()]),
        startVerifications({
          db,
          objects: cold.store,
          removes: () => removes(cold.watch.state().state),
          duckdb: cold.moverDuckdb,
          spoolDir: cold.spoolDir,
          log,
          pace: paceOf('verifications'),
        }),
      ];
      return {
        poke() {
          for (const work of works) work.poke();
        },
        stop: () => stopTogether(works, log),
      };
    }),
  };
}

/** Removes keys of tenants from the place that backups take them from; undefined where there is none. */
function keyRemoval({ backupKeys }: Settings, spoolDir: string): MoverContext['removeKeys'] {
  if (backupKeys === undefined) return undefined;
  return async (key, signal) => {
    const place = await openPlace(backupKeys, process.cwd());
    try {
      return await removeKeys({ place, spoolDir }, key, signal);
    } finally {
      await place.close();
    }
  };
}

/** An erasure names so many of each at most. */
const mostNamed = 100;

/** Does what follows when records leave, in that transaction. It is here as retention must not know of exports. */
export async function onGone(connection: Connection, gone: Gone): Promise<GoneEffects> {
  const tagsRemoved = await removeErasedTags(connection, gone);
  const versions = await noteGoneRecords(connection, gone);
  const exports = await noteGoneExports(connection, gone);
  const counts = await endCountsOf(connection, gone);
  const sums = { tagsRemoved, versionsChanged: versions.length, exportsRemoved: exports.length };
  if (gone.kind !== 'erase') return sums;
  // They are listed last: until its job is ended a run may still begin to deliver. To others the job is completed until
  // the commit, so what somebody begins to download between these lists and the commit is in no receipt, only in the
  // audit log.
  const delivered = await listGoneDeliveries(connection, gone);
  const downloads = await listGoneDownloads(connection, gone);
  return {
    ...sums,
    countsEnded: counts.length,
    counts: counts.slice(0, mostNamed),
    versions: versions.slice(0, mostNamed),
    exports: exports.slice(0, mostNamed),
    downloads: downloads.slice(0, mostNamed),
    delivered,
  };
}

/** Adds the routes of retention, verification and erasure. What ends their work joins `closers`. */
export function addRetention(http: HttpServer, host: Host, retention: Retention): void {
  const { settings, db, cold, closers } = host;
  const options = {
    ...routeTools(host),
    store: cold,
    graceSeconds: retention.mover.graceSeconds,
    poke: () => retention.poke(),
  };
  addRetentionRoutes(http, db, options);
  addVerifyRoutes(http, db, options);
  const eraser = createEraser({
    ...retention.mover,
    pace: unpaced,
    // Whoever asked for an erasure waits for no move.
    turns: undefined,
    objects: cold.objects,
    audit: options.audit,
    incidents: createIncidentEraser(db, {
      audit: options.audit,
      deliveryDays: settings.deliveryDays,
    }),
    clock: systemClock,
  });
  closers.push(() => eraser.stop());
  addEraseRoutes(http, eraser);
  addIcebergRoutes(http, {
    ...retention.mover,
    key: options.cursorKey,
    turns: createGate(1),
    noteRead: readNotes(host),
  });
  const importer = createDayImporter({
    ...retention.mover,
    turns: createGate(tenantsAtOnce),
    maxEnrichmentBytes: settings.enrichmentMaxBytes,
  });
  closers.push(() => importer.stop());
  addImportRoutes(http, importer, cold.spoolDir);
  addAdoptRoute(http, {
    ...retention.mover,
    objects: cold.objects,
    audit: options.audit,
    lockMillis: 10_000,
  });
}
