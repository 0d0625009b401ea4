import { statfs } from 'node:fs/promises';
import { accessFigures } from '../access/index.ts';
import { backupFigures } from '../backup/index.ts';
import { readFigure } from '../checks/index.ts';
import { readRelease } from '../config/release.ts';
import { roles } from '../config/setting-rows.ts';
import { exportFigures } from '../exports/index.ts';
import { addFigures, type FigureSource } from '../platform/metrics/figures.ts';
import { createMetrics, type Metrics, type ProcessFacts } from '../platform/metrics/metrics.ts';
import { folderOfStore } from '../platform/objects/open-store.ts';
import { databaseFigures, fromDatabase, ownFigures } from '../platform/postgres/figures.ts';
import { newestMigration } from '../platform/postgres/migrate.ts';
import { paced } from '../platform/work/pace.ts';
import { recordFigures } from '../records/index.ts';
import { retentionFigures } from '../retention/index.ts';
import { webhookFigures } from '../webhooks/index.ts';
import type { Host } from './host.ts';
import { type Looker, lookAround } from './look.ts';

/** Makes the metrics of this process. `addAllFigures` adds those of the database and the disks. */
export async function createProcessMetrics(
  { settings, db }: Pick<Host, 'settings' | 'db'>,
  storeState: ProcessFacts['storeState'],
): Promise<Metrics> {
  return createMetrics({
    version: readRelease(),
    schema: await newestMigration(),
    roles: Object.fromEntries(roles.map((role) => [role, settings.roles.includes(role)])),
    works: paced,
    poolState: () => ({
      total: db.pool.totalCount,
      idle: db.pool.idleCount,
      waiting: db.waiting(),
    }),
    storeState,
  });
}

/** Adds what is read when somebody asks for the metrics. `assertReady` throws unless requests can be served. */
export function addAllFigures(host: Host, assertReady: () => Promise<unknown>): void {
  const { settings, log, db, cold, metrics } = host;
  const store = folderOfStore(settings.blobUrl, settings.dataDir);
  const ready: FigureSource = {
    name: 'readiness',
    gauges: {
      svcctl_ready: { help: 'Whether /readyz of this process answers 200.', otherwise: 0 },
    },
    read: async () =>
      assertReady().then(
        () => ({ svcctl_ready: 1 }),
        () => ({ svcctl_ready: 0 }),
      ),
  };
  const features = [
    ...[ownFigures, recordFigures, webhookFigures, exportFigures, retentionFigures, accessFigures],
    backupFigures(settings.backupMaxAgeHours),
    checkFigures(host),
  ];
  addFigures(
    metrics.registry,
    [
      ready,
      diskFigures({
        data: settings.dataDir,
        spool: cold.spoolDir,
        ...(store === null ? {} : { store }),
      }),
      ...fromDatabase(db, features),
    ],
    {
      keepMillis: settings.metricsCacheSeconds * 1000,
      limitMillis: settings.waits.scrapeMillis,
      onFailure: (source, error) => log.warn({ source, err: error }, 'metrics could not be read'),
    },
  );
}

/** What is wrong, as OVERVIEW and the quick checks of svcctl doctor tell it. */
const checkFigures = (looker: Looker) =>
  databaseFigures({
    name: 'checks',
    gauges: {
      svcctl_trouble: {
        help: 'Whether a check finds something wrong, under how bad that is: those of OVERVIEW, and those of svcctl doctor that read next to nothing.',
        label: ['check', 'severity'],
      },
    },
    read: async (db) => ({ svcctl_trouble: await readFigure(lookAround(db, looker)) }),
  });

/** Tells how much room the file systems of these folders have. A folder that cannot be asked is left out. */
function diskFigures(
  folders: Readonly<Record<string, string>>,
): FigureSource<'svcctl_disk_free_bytes' | 'svcctl_disk_size_bytes'> {
  return {
    name: 'disk',
    gauges: {
      svcctl_disk_free_bytes: {
        help: 'What the service may still write to the file system of a folder: the data folder, the spool folder, or the store of cold data when it is a folder.',
        label: 'folder',
      },
      svcctl_disk_size_bytes: { help: 'The size of that file system.', label: 'folder' },
    },
    async read() {
      const [free, size]: Record<string, number>[] = [{}, {}];
      for (const [name, path] of Object.entries(folders)) {
        const found = await statfs(path).catch(() => null);
        if (found === null) continue;
        Object.assign(free ?? {}, { [name]: found.bavail * found.bsize });
        Object.assign(size ?? {}, { [name]: found.blocks * found.bsize });
      }
      return { svcctl_disk_free_bytes: free ?? {}, svcctl_disk_size_bytes: size ?? {} };
    },
  };
}
