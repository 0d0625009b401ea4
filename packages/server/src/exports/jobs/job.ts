import type { Slice } from '../../records/index.ts';
import type { Shares } from '../../records/versions.contract.ts';
import type { ExportRequest } from '../contract.ts';
import type { FileOptions } from '../formats/format.ts';
import type { ExportState, Manifest } from '../jobs.contract.ts';

/** Which job: what all statements about it and its parts name it by. */
export type JobId = { readonly tenant: string; readonly id: string };

/** A dataset version as it was when the job was made. */
export type JobVersion = {
  readonly id: string;
  readonly name: string;
  readonly dataset: string;
  readonly shares: Shares | null;
};

/** Head and tail of a file, which are one object. */
export type FileEnds = {
  readonly object_key: string;
  /** Hex. */
  readonly sha256: string;
  readonly head_bytes: number;
  readonly tail_bytes: number;
};

/** Without the time that the job itself tells. */
export type StoredManifest = Omit<Manifest, 'finished_at'>;

export type PinnedJobSlice = Slice & { readonly tenant: string };

/** A job as it is stored. Digests are decimal text. */
export type StoredJob = JobId & {
  readonly state: ExportState;
  readonly request: ExportRequest;
  readonly options: FileOptions;
  readonly file_name: string;
  /** Pinned: it is the same records in whatever process, and whenever. */
  readonly slice: PinnedJobSlice;
  readonly recorded_before: string;
  readonly version: JobVersion | null;
  readonly rows_total: number | null;
  readonly bytes_total: number | null;
  readonly digest: string | null;
  readonly parts_total: number | null;
  readonly rows_done: number;
  readonly rows_per_second: number | null;
  readonly size_bytes: number;
  readonly sha256: Buffer | null;
  readonly ends: FileEnds | null;
  readonly manifest: StoredManifest | null;
  readonly requested_by: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly expires_at: string | null;
  readonly has_file: boolean;
  readonly error_code: string | null;
  readonly error: string | null;
  readonly runner: string | null;
  readonly attempts: number;
  readonly failures: number;
};

/** A job without what grows with its parts and tags. */
export type ShownJob = Omit<StoredJob, 'slice' | 'ends' | 'manifest'>;
