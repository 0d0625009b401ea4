import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { formatDigest, sumDigests } from '../../kernel/digest.ts';
import { AppError } from '../../kernel/errors.ts';
import { putBytes } from '../../platform/objects/spool.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import { ThreadHash } from '../../platform/thread-hash.ts';
import { cutParts, measureSlice, sumTriples, type Triple } from '../../records/index.ts';
import { compress, compressTail } from '../formats/compress.ts';
import { createFormat } from '../formats/create-format.ts';
import type { FileFormat } from '../formats/format.ts';
import type { Manifest } from '../jobs.contract.ts';
import { type JoinedFile, joinBundle } from './bundle.ts';
import { sliceOfPart } from './bundle-splits.ts';
import type { Hold, JobProgress, WorkContext } from './context.ts';
import { cutNews } from './cut-news.ts';
import { type Delivery, deliver } from './deliver.ts';
import { setDelivery } from './delivery-queries.ts';
import { type FileEnds, type Held, partKey, type StoredJob } from './job.ts';
import { addFile, makeParts } from './make-parts.ts';
import { describeFile } from './manifest.ts';
import type { DonePart, PartRow } from './queries.ts';
import * as queries from './queries.ts';
import { findVersionContent } from './version-queries.ts';
import { toFilePart } from './write-file.ts';

type JobCall = Hold & { readonly job: StoredJob & Held };

/**
 * Does all that is left of a job: cuts the slice, counts it, makes missing parts, and completes it if the file holds
 * what was pinned. Throws `export_mismatch`, `store_fenced`, `JobLost`, and what an attempt may fail with.
 */
export async function doJob(context: WorkContext, call: JobCall): Promise<void> {
  const { job, signal, write } = call;
  const format = (context.createFormat ?? createFormat)({
    ...job.options,
    fields: job.typed_schema?.columns,
  });
  await context.fence.advance(signal);
  const measured = job.parts_total === null ? await cut(context, call) : null;
  const parts = await queries.listParts(context.db, job);
  const totals = measured ?? (await findTotals(context, parts, call));
  const progress = new Map<number, JobProgress>();
  for (const { number, ...part } of parts) {
    if (part.rows !== null) progress.set(number, { rows: part.rows, bytes: part.size_bytes });
  }
  call.showProgress(() => ({
    rows: sumOf([...progress.values()].map(({ rows }) => rows)),
    bytes: sumOf([...progress.values()].map(({ bytes }) => bytes)),
  }));
  const { compression } = job.options;
  const head = await buffer(compress([format.head], compression));
  const hash = new ThreadHash();
  await hash.update(head);
  const made = await makeParts(context, parts, {
    job,
    format,
    signal,
    write,
    digest: totals.digest,
    hash,
    tally: (part, now) => void progress.set(part, now),
  });
  assertSame(made.parts, totals);
  const { gaps, sha256 } =
    job.options.format === 'bundle'
      ? await joinBundle(context, { job, signal, format, ...made, digest: totals.digest })
      : await joinFile(job, { format, ...made, head });
  const ends = await writeEnds(context, gaps, call);
  signal.throwIfAborted();
  const file = { format, parts: made.parts, ends, sha256, totals };
  if (job.schedule_id !== null && totals.rows > 0) await noteLeaving(context, call, totals.rows);
  const delivery = job.schedule_id === null ? null : await deliver(context, { ...call, ...file });
  await complete(context, call, { ...file, delivery });
}

/** The head and the tail around all parts, and the hash of the whole. */
async function joinFile(
  { options }: StoredJob,
  made: { format: FileFormat; parts: readonly DonePart[]; hash: ThreadHash; head: Buffer },
): Promise<JoinedFile> {
  const { format, parts, hash, head } = made;
  const tail = await buffer(compressTail(format, parts.map(toFilePart), options.compression));
  await hash.update(tail);
  const gaps = [
    { after: 0, bytes: head },
    { after: parts.length, bytes: tail },
  ];
  return { gaps, sha256: await hash.digest() };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** The rows and digest that the file must have; what no counter tells is measured part by part, in short statements. */
async function findTotals(
  { db, source }: WorkContext,
  parts: readonly PartRow[],
  { job, signal, write }: JobCall,
): Promise<{ rows: number; digest: string }> {
  if (job.rows_total !== null && job.digest !== null) {
    return { rows: job.rows_total, digest: job.digest };
  }
  const triples: Triple[] = [];
  for (const part of parts) {
    signal.throwIfAborted();
    triples.push(await measureSlice(db, sliceOfPart(job, part), source.cold));
  }
  const sum = sumTriples(triples);
  await write((connection) => queries.updateTotals(connection, job, sum));
  return { rows: sum.count, digest: sum.digest };
}

/** Cuts the slice, once: after another cut, done parts would hold other records. Returns what was measured for it. */
async function cut(context: WorkContext, { job, signal, write }: JobCall): Promise<Totals | null> {
  const { db, cut: cutSlice = cutParts } = context;
  if (job.slice.recordedFrom === undefined) {
    const parts = await cutSlice(db, job.slice);
    await write((connection) => queries.insertParts(connection, job, parts));
    return null;
  }
  const { parts, sum } = await cutNews(context, job.slice, signal);
  await write(async (connection) => {
    await queries.insertParts(connection, job, parts);
    await queries.updateTotals(connection, job, sum);
  });
  return { rows: sum.count, digest: sum.digest };
}

type Totals = { readonly rows: number; readonly digest: string };

/** Throws `export_mismatch` unless the rows and digest of the parts are those that were pinned. */
function assertSame(done: readonly DonePart[], pinned: Totals): void {
  const rows = sumOf(done.map((part) => part.rows));
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

/** Stores what a file has beside its parts, the first before them and the last behind them, as one object. */
async function writeEnds(
  context: WorkContext,
  gaps: JoinedFile['gaps'],
  { job, signal }: JobCall,
): Promise<FileEnds> {
  const { store, source } = context;
  const bytes = Buffer.concat(gaps.map((gap) => gap.bytes));
  const headBytes = gaps[0]?.bytes.length ?? 0;
  const between = gaps.slice(1, -1).map((gap) => ({ after: gap.after, bytes: gap.bytes.length }));
  const sha256 = createHash('sha256').update(bytes).digest();
  const key = partKey(job, 'ends');
  await putBytes({ store, spoolDir: source.spoolDir }, { key, bytes, signal });
  const path = store.pathOf(key);
  const ref = { key, sizeBytes: bytes.length, sha256 };
  if (path !== null) await addFile(context, ref, { hash: new ThreadHash(), path, signal });
  return {
    object_key: key,
    sha256: sha256.toString('hex'),
    head_bytes: headBytes,
    tail_bytes: bytes.length - headBytes,
    ...(between.length > 0 && { between }),
  };
}

/** Stores that the job is completed. Throws `JobLost` when it belongs to another runner by now. */
async function complete(
  context: WorkContext,
  { job, write }: JobCall,
  file: {
    format: FileFormat;
    parts: readonly DonePart[];
    ends: FileEnds;
    sha256: Buffer;
    totals: Totals;
    delivery: Delivery | null;
  },
): Promise<void> {
  const { head_bytes, tail_bytes } = file.ends;
  const sizeBytes = sumOf([head_bytes, ...file.parts.map((part) => part.size_bytes), tail_bytes]);
  const splits = await splitsOf(context, job);
  const manifest = {
    ...describeFile(job, { ...file, digest: file.totals.digest, sizeBytes }),
    splits,
  };
  const { rows } = file.totals;
  const { sha256, ends } = file;
  const { days } = context;
  await write(async (connection) => {
    await queries.completeJob(connection, job, { sha256, sizeBytes, rows, ends, manifest, days });
    if (file.delivery !== null) await noteDelivery(connection, job, file.delivery);
  });
}

/** Puts on record, before the first byte leaves, what goes out in the name of whoever made the schedule. */
async function noteLeaving(
  { audit }: WorkContext,
  { job, write }: JobCall,
  rows: number,
): Promise<void> {
  const { id: target, tenant, token_id: tokenId, requested_by: name } = job;
  const { schedule_name: schedule, delivered_to: to, file_name } = job;
  const after = { schedule, to, file_name, rows };
  const act = { action: 'export.deliver', target, tenant, after };
  await write((connection) => audit(connection, { tokenId, name }, act));
}

/** From this commit on the schedule has delivered this. A run that is cancelled before never gets its marker. */
async function noteDelivery(
  connection: Connection,
  job: StoredJob,
  delivery: Delivery,
): Promise<void> {
  const { schedule_id: scheduleId, slice, recorded_before: recordedBefore } = job;
  const recordedFrom = slice.recordedFrom ?? null;
  const run = { scheduleId: scheduleId ?? '', delivery, recordedFrom, recordedBefore };
  if (await setDelivery(connection, job, run)) return;
  throw new AppError('export_mismatch', {
    detail: 'The schedule has delivered these records by another run since.',
  });
}

/** The splits of an export of a whole version with shares; null for other exports, and while they are not counted. */
async function splitsOf({ db }: WorkContext, job: StoredJob): Promise<Manifest['splits']> {
  const { tenant, version, request } = job;
  if (version === null || version.shares === null) return null;
  if (request.split !== undefined || request.where !== undefined) return null;
  const content = await findVersionContent(db, { tenant, id: version.id });
  if (content?.state !== 'ready' || content.splits === null) return null;
  return Object.fromEntries(
    Object.entries(content.splits).map(([name, { count, digest }]) => [
      name,
      { rows: count, digest: formatDigest(BigInt(digest)) },
    ]),
  );
}
