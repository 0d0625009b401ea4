import { createHash } from 'node:crypto';
import { cutParts, measureSlice, sumTriples, type Triple } from '../../../records/index.ts';
import { compress, compressTail } from '../../formats/compress.ts';
import type { DonePart } from '../../formats/format.ts';
import type { StoredJob } from '../job.ts';
import { insertParts } from '../queries.ts';
import { type JobProgress, type WorkContext, whileHeld } from './context.ts';
import { assertSame, complete, writeEnds } from './finish.ts';
import { doneRow, makeParts, type Tally } from './make-parts.ts';
import { type DoneRow, listParts, type PartRow, updateTotals } from './queries.ts';
import { partSlice } from './write-part.ts';

export type HeldJob = StoredJob & { readonly runner: string };

export type JobCall = {
  readonly job: HeldJob;
  readonly signal: AbortSignal;
  readonly counts: ProgressCounts;
};

/**
 * Does all that is left of a job. It cuts the slice unless that was done, counts what the counters cannot tell, makes
 * the missing parts, and completes the job if the file holds what was pinned. Throws `export_mismatch` if it does not,
 * `store_fenced`, `JobLost`, and whatever an attempt may fail with.
 */
export async function doJob(context: WorkContext, call: JobCall): Promise<void> {
  const { job, signal, counts } = call;
  const format = context.createFormat(job.options);
  await context.fence.advance(signal);
  if (job.parts_total === null) await cut(context, job);
  const parts = await listParts(context.db, job);
  const totals = await findTotals(context, parts, call);
  for (const part of parts) {
    const done = doneRow(part);
    if (done !== null) counts.done(done);
  }
  const { compression } = job.options;
  const head = await collect(compress([format.head], compression));
  const made = await makeParts(context, parts, {
    job,
    format,
    signal,
    hash: createHash('sha256').update(head),
    tally: counts,
  });
  assertSame(made.parts, totals);
  const tail = await collect(compressTail(format, made.parts.map(toDonePart), compression));
  const ends = await writeEnds(context, { head, tail }, { job, signal });
  signal.throwIfAborted();
  const sha256 = made.hash.update(tail).digest();
  await complete(context, job, { format, parts: made.parts, ends, sha256, totals });
}

async function collect(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

function toDonePart({ rows, bodyBytes, layout }: DoneRow): DonePart {
  return { rows, sizeBytes: bodyBytes, layout };
}

/**
 * The rows and digest that the file must have. Where the counters could not tell them, they are measured part by part,
 * so that each statement is short, however large the slice is.
 */
async function findTotals(
  { db, source }: WorkContext,
  parts: readonly PartRow[],
  { job, signal }: JobCall,
): Promise<{ rows: number; digest: string }> {
  if (job.rows_total !== null && job.digest !== null) {
    return { rows: job.rows_total, digest: job.digest };
  }
  const triples: Triple[] = [];
  for (const part of parts) {
    signal.throwIfAborted();
    triples.push(await measureSlice(db, partSlice(job.slice, part), source.cold));
  }
  const sum = sumTriples(triples);
  await whileHeld(db, job, (connection) => updateTotals(connection, job, sum));
  return { rows: sum.count, digest: sum.digest };
}

/** Cuts the slice into parts. This is done once: after another cut, parts that are done would have other records. */
async function cut(context: WorkContext, job: HeldJob): Promise<void> {
  const { db, cut: cutSlice = cutParts } = context;
  const parts = await cutSlice(db, job.slice);
  await whileHeld(db, job, (connection) => insertParts(connection, job, parts));
}

/** Counts what is done of a job while it is worked on. */
export type ProgressCounts = Tally & { now(): JobProgress };

export function createProgressCounts(): ProgressCounts {
  const done = new Map<number, JobProgress>();
  const underWay = new Map<number, number>();
  return {
    done({ number, rows, sizeBytes }) {
      done.set(number, { rows, bytes: sizeBytes });
      underWay.delete(number);
    },
    underWay(number, rows) {
      done.delete(number);
      underWay.set(number, rows);
    },
    now() {
      let [rows, bytes] = [0, 0];
      for (const part of done.values()) {
        rows += part.rows;
        bytes += part.bytes;
      }
      for (const count of underWay.values()) rows += count;
      return { rows, bytes };
    },
  };
}
