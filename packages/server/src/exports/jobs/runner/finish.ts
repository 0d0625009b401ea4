import { createHash, type Hash } from 'node:crypto';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatDigest, sumDigests } from '../../../kernel/digest.ts';
import { AppError } from '../../../kernel/errors.ts';
import {
  type ByteSink,
  ObjectDamaged,
  ObjectMissing,
  type ObjectRef,
  type ObjectStore,
  systemCode,
} from '../../../platform/objects/objects.ts';
import type { Pace } from '../../../platform/work/pace.ts';
import type { FileFormat } from '../../formats/format.ts';
import type { Manifest } from '../../jobs.contract.ts';
import type { Proof } from '../../values.ts';
import { type FileEnds, partKey, type StoredJob, type StoredManifest } from '../job.ts';
import { findSplits } from '../queries.ts';
import { JobLost, type WorkContext } from './context.ts';
import { completeJob, type DoneRow } from './queries.ts';
import { isReadBack } from './write-part.ts';

type Totals = { readonly rows: number; readonly digest: string };

/** Throws `export_mismatch` unless the rows and digest of the parts are those that were pinned. */
export function assertSame(done: readonly DoneRow[], pinned: Totals): void {
  const rows = done.reduce((sum, part) => sum + part.rows, 0);
  const digest = sumDigests(done.map((part) => BigInt(part.digest)));
  if (rows === pinned.rows && digest === BigInt(pinned.digest)) return;
  const difference =
    rows === pinned.rows
      ? `The file has the digest ${formatDigest(digest)}, the slice had ${formatDigest(BigInt(pinned.digest))}`
      : `The file has ${rows} rows, the slice had ${pinned.rows}`;
  throw new AppError('export_mismatch', {
    detail: `${difference} when the export was asked for. Records of it were erased or deleted since, or changed in storage: GET /retention/moves tells the first. Start the export again.`,
  });
}

/** Stores the head and the tail of a file as one object, and reads it back. */
export async function writeEnds(
  { store, source, pace }: WorkContext,
  ends: { head: Buffer; tail: Buffer },
  { job, signal }: { job: StoredJob & { readonly runner: string }; signal: AbortSignal },
): Promise<FileEnds> {
  const bytes = Buffer.concat([ends.head, ends.tail]);
  const sha256 = createHash('sha256').update(bytes).digest();
  const objectKey = partKey(job, 'ends');
  const dir = await mkdtemp(join(source.spoolDir, 'export-'));
  try {
    const path = join(dir, 'ends');
    await writeFile(path, bytes);
    await store.put(objectKey, path, signal);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  const ref = { key: objectKey, sizeBytes: bytes.length, sha256 };
  await hashObject(createHash('sha256'), ref, { store, signal, pace });
  return {
    object_key: objectKey,
    sha256: sha256.toString('hex'),
    head_bytes: ends.head.length,
    tail_bytes: ends.tail.length,
  };
}

/** Stores that the job is completed. Throws `JobLost` when it belongs to another runner by now. */
export async function complete(
  context: WorkContext,
  job: StoredJob & { readonly runner: string },
  file: {
    format: FileFormat;
    parts: readonly DoneRow[];
    ends: FileEnds;
    sha256: Buffer;
    totals: Totals;
  },
): Promise<void> {
  const { db, days } = context;
  const sizeBytes = file.parts.reduce(
    (sum, part) => sum + part.sizeBytes,
    file.ends.head_bytes + file.ends.tail_bytes,
  );
  const manifest: StoredManifest = {
    export_id: job.id,
    file_name: job.file_name,
    format: job.options.format,
    compression: job.options.compression,
    columns: [...job.options.columns],
    request: job.request,
    recorded_before: job.recorded_before,
    version: job.version,
    rows: file.totals.rows,
    digest: hexDigest(file.totals.digest),
    proof: proofOf(job, file),
    splits: await splitsOf(context, job),
    bytes: sizeBytes,
    sha256: file.sha256.toString('hex'),
    parts: file.parts.map((part) => ({
      rows: part.rows,
      digest: hexDigest(part.digest),
      bytes: part.sizeBytes,
      sha256: part.sha256.toString('hex'),
    })),
    created_at: job.created_at,
  };
  const { rows } = file.totals;
  const { sha256, ends } = file;
  const isCompleted = await completeJob(db, job, { sha256, sizeBytes, rows, ends, manifest, days });
  if (!isCompleted) throw new JobLost('the job was cancelled or taken over');
}

/** What the parts that were read back prove, at the least: parts with hot records are always read back. */
function proofOf(
  job: StoredJob,
  { format, parts }: { format: FileFormat; parts: readonly DoneRow[] },
): Proof {
  if (format.proof !== 'content') return format.proof;
  return parts.every((part) => isReadBack(part, job)) ? 'content' : 'sample';
}

function hexDigest(decimal: string): string {
  return formatDigest(BigInt(decimal));
}

/** The splits of an export of a whole version with shares; null for other exports, and while they are not counted. */
async function splitsOf({ db }: WorkContext, job: StoredJob): Promise<Manifest['splits']> {
  const { tenant, version, request } = job;
  if (version === null || version.shares === null || request.split !== undefined) return null;
  const splits = await findSplits(db, { tenant, id: version.id });
  if (splits === null) return null;
  return Object.fromEntries(
    Object.entries(splits).map(([name, { count, digest }]) => [
      name,
      { rows: count, digest: hexDigest(digest) },
    ]),
  );
}

const readBytes = 512 * 1024;

/**
 * Returns a copy of a hash to which an object of the store was added; the given hash stays as it is. Throws
 * ObjectMissing, or ObjectDamaged when the object is not what its reference says.
 */
export async function hashObject(
  hash: Hash,
  ref: ObjectRef,
  options: { store: ObjectStore; signal: AbortSignal; pace: Pace },
): Promise<Hash> {
  const { store, signal, pace } = options;
  const inPlace = store.pathOf(ref.key);
  if (inPlace !== null) return addFile(hash, ref, { ...options, path: inPlace });
  const rest = pace.begin();
  let [whole, own] = [hash, createHash('sha256')];
  const sink: ByteSink = {
    begin() {
      [whole, own] = [hash.copy(), createHash('sha256')];
    },
    write(bytes) {
      whole.update(bytes);
      own.update(bytes);
      return rest(signal);
    },
  };
  await store.get(ref.key, sink, signal);
  return proved({ whole, own }, ref);
}

/** Reads a file once and adds it to two hashes: its own, which is checked, and that of the whole. */
async function addFile(
  hash: Hash,
  ref: ObjectRef,
  { path, signal, pace }: { path: string; signal: AbortSignal; pace: Pace },
): Promise<Hash> {
  const rest = pace.begin();
  const [whole, own] = [hash.copy(), createHash('sha256')];
  const file = await open(path, 'r').catch((error: unknown) => {
    throw systemCode(error) === 'ENOENT' ? new ObjectMissing(ref.key) : error;
  });
  try {
    // One buffer for all: a stream allocates one for each piece, and collecting those took as long as a hash.
    const buffer = Buffer.allocUnsafe(readBytes);
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, readBytes);
      if (bytesRead === 0) break;
      const piece = buffer.subarray(0, bytesRead);
      whole.update(piece);
      own.update(piece);
      await rest(signal);
    }
  } finally {
    await file.close();
  }
  return proved({ whole, own }, ref);
}

function proved({ whole, own }: { whole: Hash; own: Hash }, ref: ObjectRef): Hash {
  if (own.digest().equals(ref.sha256)) return whole;
  throw new ObjectDamaged(ref.key, 'is not what was written: its SHA-256 differs');
}
