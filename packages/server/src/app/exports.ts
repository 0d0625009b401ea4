import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { actorOfToken, auditLocally } from '../access/index.ts';
import {
  addExportRoutes,
  addScheduleRoutes,
  createSchemaFinder,
  findTarget,
  openTarget,
  parseTarget,
  type ReportRun,
  startExportJobs,
  startSchedules,
  startSweeps,
  type WorkContext,
} from '../exports/index.ts';
import { type FileVerdict, type Manifest, manifestSchema } from '../exports/jobs.contract.ts';
import { type FileSource, verifyFile } from '../exports/verify-file.ts';
import { AppError } from '../kernel/errors.ts';
import { createGate } from '../kernel/gate.ts';
import { createDuckDb } from '../platform/duckdb.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { parseJson, Validator } from '../platform/http/validate.ts';
import type { Log } from '../platform/log.ts';
import type { Repeated, Work } from '../platform/work/repeat.ts';
import { type Host, readNotes, routeTools, secretBox } from './host.ts';

/** The work on export jobs. It runs only in a process that has the role `exports`; elsewhere `start` does nothing. */
export type ExportJobs = Work & {
  /** Looks at once whether a schedule is due. */
  pokeSchedules(): void;
};

/** All export jobs of one process encode at most this many chunks at once: they give way to streamed exports. */
const encodedAtOnce = 2;

export function createExportJobs(host: Host, report: ReportRun): ExportJobs {
  const { settings, log, db, cold, paceOf } = host;
  let schedules: Repeated | undefined;
  let runner: Repeated | undefined;
  let sweeps: Repeated | undefined;
  return {
    start() {
      // In a read-only process jobs stay queued and files stay where they are.
      if (!settings.roles.includes('exports') || cold.fence.isReadOnly) return;
      const { exportLookMillis } = settings.waits;
      sweeps = startSweeps({ db, store: cold.store, fence: cold.fence, log }, exportLookMillis);
      const source = {
        db,
        cold: { duckdb: cold.jobDuckdb, objects: cold.objects },
        spillDir: settings.dataDir,
        spillBytes: settings.exportSpillBytes,
        spoolDir: cold.spoolDir,
        encoders: createGate(encodedAtOnce),
      };
      const context: WorkContext = {
        db,
        source,
        store: cold.store,
        fence: cold.fence,
        pace: paceOf('exports'),
        audit: auditLocally,
        days: settings.exportDays,
        perTenant: settings.exportJobsPerTenant,
        openTarget: targetOpener(host),
      };
      const onEnded = () => {
        sweeps?.poke();
        schedules?.poke();
      };
      runner = startExportJobs(context, { log, places: settings.exportJobs, onEnded });
      const scheduling = {
        ...{ db, source, log, report, roots: settings.exportRoots },
        openTarget: targetOpener(host),
        onBegun: () => runner?.poke(),
      };
      schedules = startSchedules(scheduling, exportLookMillis);
    },
    poke() {
      runner?.poke();
    },
    pokeSchedules() {
      schedules?.poke();
    },
    async stop() {
      await schedules?.stop();
      await runner?.stop();
      await sweeps?.stop();
    },
  };
}

/** Opens the places of runs, as they are stored now: the credentials of a schedule may change while a run waits. */
function targetOpener(host: Host): WorkContext['openTarget'] {
  const { db, settings } = host;
  return async (run) => {
    const found = await findTarget(db, run);
    if (found === undefined) throw new Error(`${run.id} is no run of a schedule`);
    const { target: to, secret, access_key_id: accessKeyId } = found;
    const target = parseTarget(to, settings.exportRoots);
    const credentials =
      secret === null || accessKeyId === null
        ? undefined
        : { accessKeyId, secretAccessKey: secretBox(host).open(secret, found.schedule_id) };
    return { place: target.place, store: await openTarget(target, credentials) };
  };
}

/** DuckDB holds a row of 40 MiB in memory several times. */
const verifierBytes = 512 * 2 ** 20;

/** Verifies a file against its manifest without a service, in a DuckDB of its own. Throws `file_unreadable`. */
export async function verifyExport(
  text: string,
  source: FileSource,
  { log, ...options }: { log: Log; signal: AbortSignal; onBytes: (bytes: number) => void },
): Promise<FileVerdict> {
  const manifest = parseManifest(text);
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-verify-'));
  const duckdb = createDuckDb({
    memoryBytes: verifierBytes,
    threads: 2,
    tempDir: join(dir, 'duckdb'),
    niceness: 0,
    // Each part is a file of the same name, so that what was kept of one would be read for the next.
    cachesFiles: false,
    log,
  });
  try {
    return await verifyFile(manifest, source, { ...options, duckdb, dir });
  } finally {
    await duckdb.close();
    await rm(dir, { recursive: true, force: true });
  }
}

function parseManifest(text: string): Manifest {
  try {
    const { value } = parseJson(Buffer.from(text));
    new Validator().check(manifestSchema, '/')(value);
    const manifest = value as Manifest;
    if (manifest.format !== 'bundle') return manifest;
  } catch (error) {
    const why = error instanceof AppError ? error.detail : String(error);
    throw new AppError('file_unreadable', {
      detail: `This is not the manifest of an export: ${why}. Get it again: svcctl exports get ID --manifest FILE.`,
      cause: error,
    });
  }
  throw new AppError('file_unreadable', {
    detail:
      'A bundle has a manifest for each of its files: unpack it, and verify data/train-00000-of-00001.parquet by manifests/train.json.',
  });
}

/** Adds the routes of exports: those that stream and those that create and read jobs. */
export function addExports(http: HttpServer, host: Host, jobs: ExportJobs): void {
  const { settings, db, cold } = host;
  const findSchema = createSchemaFinder({ db, cold });
  addExportRoutes(http, db, {
    cold,
    findSchema,
    jobs,
    objects: cold.objects,
    fence: cold.fence,
    spoolDir: cold.spoolDir,
    spillDir: settings.dataDir,
    spillBytes: settings.exportSpillBytes,
    publicUrl: settings.publicUrl,
    stallMillis: settings.exportStallSeconds * 1000,
    // Each streamed export holds a connection to the database, so exports may take at most half of them.
    maxConcurrent: Math.min(
      settings.exportMaxConcurrent,
      Math.floor(settings.databaseConnections / 2),
    ),
    maxPerCaller: settings.exportMaxPerCaller,
    noteRead: readNotes(host),
    actorOf: (tokenId) => actorOfToken(db, tokenId, 'analytics:read'),
    ...routeTools(host),
  });
  addScheduleRoutes(http, db, {
    roots: settings.exportRoots,
    spoolDir: cold.spoolDir,
    findSchema,
    seal: (secret, id) => secretBox(host).seal(secret, id),
    unseal: (secret, id) => secretBox(host).open(secret, id),
    poke: () => jobs.pokeSchedules(),
    ...routeTools(host),
  });
}
