import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import { mayPass } from '../../platform/objects/s3-errors.ts';
import { inSpoolFolder, putBytes } from '../../platform/objects/spool.ts';
import type { FileFormat } from '../formats/format.ts';
import { linesOf } from '../typed/fill-row.ts';
import type { Hold, WorkContext } from './context.ts';
import type { StoredJob } from './job.ts';
import { type DonePart, goOn } from './queries.ts';
import { writeFile } from './write-file.ts';

/** What of a run lies in its folder. */
export type Delivery = {
  readonly files: readonly DeliveredFile[];
  /** Of typed Parquet: how many rows have something that fits no column. */
  readonly misfits?: number;
  /** Of a template: how many records have no value for it, and no line. */
  readonly skipped?: number;
  /** The text of `_SUCCESS`, which is written once the run is completed. */
  readonly marker: string;
};
type DeliveredFile = {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
};

type DeliverCall = {
  readonly job: StoredJob;
  readonly format: FileFormat;
  readonly parts: readonly DonePart[];
} & Pick<Hold, 'signal' | 'write'>;

/**
 * Writes the parts of a run into its folder, each as a whole file, and then `manifest.json`. All of it follows from the
 * job and its parts, so that whoever does it again after a kill would write the same names with the same content, and
 * leaves what is there as it is. Throws 400 `export_target_unusable`.
 */
export async function deliver(context: WorkContext, call: DeliverCall): Promise<Delivery> {
  const { job, signal } = call;
  const { store, folder } = await openFolder(context, job);
  const { spoolDir } = context.source;
  try {
    return await inSpoolFolder(spoolDir, async (dir) => {
      const files: DeliveredFile[] = [];
      for (const part of call.parts.filter((each) => linesOf(each) > 0)) {
        signal.throwIfAborted();
        const number = String(files.length + 1).padStart(5, '0');
        const name = `part-${number}${call.format.extension}`;
        const path = join(dir, name);
        const written = await writeFile(context, [part], { ...call, path });
        files.push({ name, rows: linesOf(part), ...written });
        const key = `${folder}/${name}`;
        const before = await findBefore(store, key, signal);
        if (before?.sizeBytes !== written.bytes) await store.put(key, path, signal);
        if (before === null) await call.write((connection) => goOn(connection, job));
        await rm(path);
      }
      const counts = call.format.tell?.(call.parts.map(({ layout }) => layout));
      const manifest = `${JSON.stringify({ ...manifestOf(job, files), ...counts }, null, 2)}\n`;
      const key = `${folder}/manifest.json`;
      await putBytes({ store, spoolDir }, { key, bytes: manifest, signal });
      return {
        files,
        marker: `${createHash('sha256').update(manifest).digest('hex')}\n`,
        ...(counts?.misfits && { misfits: counts.misfits.rows }),
        ...(counts?.skipped && { skipped: counts.skipped.rows }),
      };
    });
  } finally {
    await store.close();
  }
}

/** The file of an earlier attempt, which is whole; null without one, undefined where the place may only be written to. */
async function findBefore(store: ObjectStore, key: string, signal: AbortSignal) {
  try {
    return await store.head(key, signal);
  } catch (error) {
    if (signal.aborted || mayPass(error)) throw error;
    return undefined;
  }
}

/** Writes the marker of a run, after which its files may be used. */
export async function mark(
  context: Pick<WorkContext, 'openTarget' | 'source'>,
  job: Pick<StoredJob, 'tenant' | 'id' | 'delivered_to'>,
  { marker, signal }: { marker: string; signal: AbortSignal },
): Promise<void> {
  const { store, folder } = await openFolder(context, job);
  const { spoolDir } = context.source;
  try {
    await putBytes({ store, spoolDir }, { key: `${folder}/_SUCCESS`, bytes: marker, signal });
  } finally {
    await store.close();
  }
}

/** The place of a run, and the key of its folder there. */
async function openFolder(
  { openTarget }: Pick<WorkContext, 'openTarget'>,
  { tenant, id, delivered_to: to }: Pick<StoredJob, 'tenant' | 'id' | 'delivered_to'>,
): Promise<{ store: ObjectStore; folder: string }> {
  if (to === null) throw new Error('the export is no run of a schedule');
  const { place, store } = await openTarget({ tenant, id });
  if (to.startsWith(`${place}/`)) return { store, folder: to.slice(place.length + 1) };
  await store.close();
  throw new AppError('export_target_refused', {
    detail: `${to} does not lie below ${place} any more: SVC_EXPORT_ROOTS has changed. Have the operator of the service list the folder again that it had, or lead the schedule to another place and cancel this run.`,
  });
}

function manifestOf(job: StoredJob, files: readonly DeliveredFile[]) {
  return {
    schedule: job.schedule_name,
    schedule_id: job.schedule_id,
    export_id: job.id,
    tenant: job.tenant,
    request: job.request,
    format: job.options.format,
    compression: job.options.compression,
    columns: job.options.columns,
    ...(job.typed_schema && { schema: job.typed_schema }),
    // What was stored at this time or later, and before the other.
    recorded_from: job.slice.recordedFrom ?? null,
    recorded_before: job.recorded_before,
    rows: files.reduce((sum, { rows }) => sum + rows, 0),
    files,
  };
}
