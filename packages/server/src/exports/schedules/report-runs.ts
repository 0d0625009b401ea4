import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type EndedRun, listUntold, setTold } from '../jobs/delivery-queries.ts';
import type { RunEventType } from '../values.ts';

/** Reports an incident, once for each export however often it is called. */
export type ReportRun = (incident: {
  readonly tenant: string;
  readonly exportId: string;
  readonly type: RunEventType;
  readonly occurredAt: string;
  readonly data: object;
}) => Promise<void>;

const atOnce = 100;

/**
 * Reports the runs that have ended of schedules that ask for it. A run counts as told only after its incident is stored,
 * so that a kill between the two reports it again, under the same key. Returns the ids of those where it failed.
 */
export async function reportRuns(
  { db, log, report }: { db: Database; log: Log; report: ReportRun },
  { except = [], signal }: { except?: readonly string[]; signal: AbortSignal },
): Promise<string[]> {
  const failed: string[] = [];
  for (const run of await listUntold(db, { except, limit: atOnce })) {
    signal.throwIfAborted();
    try {
      await report(incidentOf(run));
      await setTold(db, run);
    } catch (err) {
      signal.throwIfAborted();
      failed.push(run.id);
      log.warn({ err, exportId: run.id }, 'the end of a run could not be reported');
    }
  }
  return failed;
}

function incidentOf(run: EndedRun): Parameters<ReportRun>[0] {
  const { tenant, id, delivery, delivered_to: folder } = run;
  const isDelivered = delivery !== null;
  const sum = (field: 'rows' | 'bytes') =>
    delivery?.files.reduce((all, file) => all + file[field], 0) ?? null;
  return {
    tenant,
    exportId: id,
    occurredAt: run.ended_at,
    type: isDelivered ? 'svcctl.export.delivered' : 'svcctl.export.failed',
    data: {
      tenant,
      schedule: { id: run.schedule_id, name: run.schedule_name },
      export_id: id,
      format: run.format,
      recorded_from: run.recorded_from,
      recorded_before: run.recorded_before,
      delivered_to: folder,
      rows: sum('rows'),
      bytes: sum('bytes'),
      files: delivery?.files.length ?? null,
      misfits: delivery?.misfits ?? null,
      skipped: delivery?.skipped ?? null,
      manifest: isDelivered ? `${folder}/manifest.json` : null,
      manifest_sha256: delivery?.marker.trim() ?? null,
      error_code: isDelivered ? null : run.error_code,
      error: isDelivered ? null : run.error,
    },
  };
}
