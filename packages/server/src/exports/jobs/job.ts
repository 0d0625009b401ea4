import { formatDigest } from '../../kernel/digest.ts';
import { type Slice, tenantFolder } from '../../records/index.ts';
import type { Shares } from '../../records/versions.contract.ts';
import type { ExportRequest } from '../contract.ts';
import type { FileOptions } from '../formats/format.ts';
import type { ExportJob, Manifest, TypedSchema } from '../jobs.contract.ts';

/** Identifies a job in all statements about it and its parts. */
export type JobId = { readonly tenant: string; readonly id: string };

/** A job as the process that works on it knows it. */
export type Held = JobId & { readonly runner: string };

/** The dataset version of an export, as it was when the job was made. */
export type JobVersion = {
  readonly id: string;
  readonly name: string;
  readonly dataset: string;
  readonly shares: Shares | null;
  /** By what its splits keep records together; missing without groups. */
  readonly group_by?: string;
  /** What holds of its records beside the tags; missing where nothing does. */
  readonly where?: string;
};

/** The head and the tail of a file, and what lies between its parts, which are stored together as one object. */
export type FileEnds = {
  readonly object_key: string;
  /** The SHA-256 as hex text. */
  readonly sha256: string;
  readonly head_bytes: number;
  readonly tail_bytes: number;
  /** How the tail begins in a bundle: so many bytes each, which lie in the file after so many parts. */
  readonly between?: readonly { readonly after: number; readonly bytes: number }[];
};

/** A manifest without the time of its end, which the job's row has. */
export type StoredManifest = Omit<Manifest, 'finished_at'>;

export type PinnedJobSlice = Slice & { readonly tenant: string };

/** A job as it is stored. Digests are decimal text. */
export type StoredJob = JobId &
  Readonly<Pick<ExportJob, 'state' | 'file_name' | 'recorded_before' | 'has_file' | 'attempts'>> &
  Readonly<Pick<ExportJob, 'rows_done' | 'rows_total' | 'rows_per_second' | 'requested_by'>> &
  Readonly<Pick<ExportJob, 'delivered_to' | 'delivered_at' | 'created_at' | 'started_at'>> &
  Readonly<Pick<ExportJob, 'finished_at' | 'expires_at' | 'waiting_since'>> &
  Readonly<Pick<ExportJob, 'error_code' | 'error'>> & {
    readonly request: ExportRequest;
    readonly options: FileOptions;
    /** Pinned: it means the same records in every process and at every time. */
    readonly slice: PinnedJobSlice;
    readonly version: JobVersion | null;
    readonly bytes_total: number | null;
    readonly digest: string | null;
    readonly parts_total: number | null;
    readonly size_bytes: number;
    readonly sha256: Buffer | null;
    readonly ends: FileEnds | null;
    readonly manifest: StoredManifest | null;
    /** The columns of typed Parquet; null for other files. */
    readonly typed_schema: TypedSchema | null;
    /** The schedule of which it is a run; null: somebody asked for it. */
    readonly schedule_id: string | null;
    readonly schedule_name: string | null;
    /** Who asked for it. */
    readonly token_id: string;
    readonly failures: number;
  };

/** A job without the fields that grow with its parts and tags; lists would be slow with them. */
export type ShownJob = Omit<StoredJob, 'slice' | 'ends' | 'manifest' | 'typed_schema'>;

/** The folder in which a job's objects are written. */
export function jobFolder({ tenant, id }: JobId): string {
  return `exports/${tenantFolder(tenant)}/${id}/`;
}

/**
 * The key of a part, or of the ends. Each attempt, in whatever process and copy of the database, has a runner id of its
 * own and so writes other objects. An attempt that has lost the job without noticing it overwrites nothing.
 */
export function partKey(job: Held, name: number | 'ends'): string {
  return `${jobFolder(job)}${name}.${job.runner}`;
}

/** A job in the form of the API. */
export function toExportJob(job: ShownJob & Partial<StoredJob>): ExportJob {
  const { rows_done, rows_total, rows_per_second, typed_schema: schema } = job;
  const left = rows_total === null ? null : rows_total - rows_done;
  return {
    id: job.id,
    tenant: job.tenant,
    format: job.options.format,
    state: job.state,
    request: job.request,
    file_name: job.file_name,
    recorded_before: job.recorded_before,
    version: job.version?.id ?? null,
    ...(schema && { schema }),
    rows_done,
    rows_total,
    percent: percentOf(job),
    rows_per_second,
    eta_s:
      job.state === 'running' && left !== null && rows_per_second
        ? Math.ceil(left / rows_per_second)
        : null,
    bytes: job.size_bytes,
    sha256: job.sha256?.toString('hex') ?? null,
    digest: job.digest === null ? null : formatDigest(BigInt(job.digest)),
    requested_by: job.requested_by,
    schedule:
      job.schedule_id === null ? null : { id: job.schedule_id, name: job.schedule_name ?? '' },
    delivered_to: job.delivered_to,
    delivered_at: job.delivered_at,
    created_at: job.created_at,
    started_at: job.started_at,
    finished_at: job.finished_at,
    expires_at: job.state === 'completed' ? job.expires_at : null,
    has_file: job.has_file,
    attempts: job.attempts,
    waiting_since: job.waiting_since,
    error_code: job.error_code,
    error: job.error,
  };
}

/** Percent with one decimal, rounded down: 100 only once it is completed, for parts are joined behind their last row. */
function percentOf({ state, rows_done, rows_total }: ShownJob): number | null {
  if (state === 'completed' || state === 'erased') return 100;
  if (rows_total === null) return null;
  return rows_total === 0 ? 0 : Math.min(999, Math.floor((1000 * rows_done) / rows_total)) / 10;
}
