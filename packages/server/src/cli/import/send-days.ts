import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Imported, ImportPlan } from '../../contract.ts';
import { AppError } from '../../kernel/errors.ts';
import { parquetType } from '../../retention/values.ts';
import { ApiError } from '../api-error.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { parseAnswer } from '../parse-answer.ts';
import type { FoundFile, Importer } from './find-files.ts';
import type { Totals } from './report.ts';

/** Files whose rows are looked at together: a day that lies in several of them is imported at once. */
export type Batch = {
  readonly files: readonly FoundFile[];
  /** Whether days of them may be imported at once. */
  readonly isTyped: boolean;
};

/** So many rows are staged together, and no more of a CSV file, whose rows nobody has counted, than this is large. */
const stagedRows = 1_000_000;
const mostFiles = 1000;
/** Fewer rows of a tenant are quicker by ingest. */
const leastRows = 1000;
/** So many tenants are sent at once. */
const sendersAtOnce = 4;
/** The service is asked about so many days at once. */
const mostDays = 10_000;

/** Puts neighbours together that have the same columns, up to a million rows. A file with more is a batch by itself. */
export function batchesOf(files: readonly FoundFile[]): Batch[] {
  const batches: { files: FoundFile[]; isTyped: boolean; rows: number }[] = [];
  for (const file of files) {
    const { shape, rows } = file.source;
    const isTyped = shape !== null && rows !== null;
    const open = batches.at(-1);
    const fits =
      open?.isTyped === true &&
      isTyped &&
      open.files[0]?.source.shape === shape &&
      open.files.length < mostFiles &&
      open.rows + rows <= stagedRows;
    if (fits) {
      open.files.push(file);
      open.rows += rows;
    } else batches.push({ files: [file], isTyped, rows: rows ?? 0 });
  }
  return batches;
}

type Sending = {
  readonly batch: Batch;
  readonly totals: Totals;
  /** How many rows of a file are passed over, because they were answered before. */
  readonly firstRow: (file: FoundFile) => number;
  /** Is told how many more rows are stored. */
  readonly onRows: (rows: number) => void;
  readonly note: (text: string) => void;
};

/**
 * Stores those rows of a batch at once that fall on days which hold nothing and are old enough, tenant by tenant. All
 * others are kept by the stage, and are to be sent through ingest. Nothing here has to succeed: what the service does
 * not take in this way, or does not answer, is sent through ingest as well, which finds what was stored.
 */
export async function sendDays(
  context: Context,
  client: Client,
  { stage }: Importer,
  sending: Sending,
): Promise<void> {
  await stage.begin();
  for (const stretches of cutStretches(sending)) {
    const staged = [...(await stage.fill(stretches))];
    const free = await atOnce(staged, ([tenant, leaves]) =>
      planTenant(client, { tenant, leaves, note: sending.note }),
    );
    await atOnce(await stage.take(free), async ({ tenant, rows }) => {
      context.io.signal.throwIfAborted();
      const isStored =
        rows >= leastRows && (await sendTenant(client, stage, { ...sending, tenant, rows }));
      if (!isStored) await stage.keep(tenant);
    });
  }
}

/** Works on several things at once. Answers what came of them, in no order. */
async function atOnce<T, R>(things: readonly T[], work: (thing: T) => Promise<R>): Promise<R[]> {
  const queue = [...things];
  const results: R[] = [];
  const go = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      results.push(await work(next));
    }
  };
  await Promise.all(Array.from({ length: sendersAtOnce }, go));
  return results;
}

/** Cuts the rows of the files into ranges that are staged together. */
function* cutStretches({ batch, firstRow }: Sending) {
  let open = [];
  let room = stagedRows;
  for (const [number, file] of batch.files.entries()) {
    const rows = file.source.rows ?? 0;
    for (let from = firstRow(file); from < rows; ) {
      const until = Math.min(rows, from + room);
      open.push(file.source.stretch(number, { from, until }));
      room -= until - from;
      from = until;
      if (room > 0) continue;
      yield open;
      open = [];
      room = stagedRows;
    }
  }
  if (open.length > 0) yield open;
}

type Leaves = ImportPlan['leaves'];

/** Asks which days of a tenant may be imported at once. */
async function planTenant(
  client: Client,
  { tenant, leaves, note }: { tenant: string; leaves: Leaves; note: Sending['note'] },
): Promise<{ tenant: string; leaves: Leaves }> {
  const free: Leaves = [];
  try {
    for (const asked of portions(leaves)) {
      const body = { tenant, leaves: asked };
      free.push(...(await client.json('POST /enrichment/imports/plan', { body })).leaves);
    }
  } catch (error) {
    tellOtherWay(tenant, error, note);
  }
  return { tenant, leaves: free };
}

/** Sends the rows of a tenant that were taken. Answers whether they are stored. */
async function sendTenant(
  client: Client,
  stage: Importer['stage'],
  { tenant, rows, totals, onRows, note }: Sending & { tenant: string; rows: number },
): Promise<boolean> {
  const path = await stage.write(tenant);
  try {
    const answer = await client.upload(
      'POST /enrichment/imports',
      createReadStream(path, { highWaterMark: 2 ** 18 }),
      { headers: { 'content-type': parquetType }, query: { tenant } },
    );
    totals.accepted += (parseAnswer(answer) as Imported).count;
    onRows(rows);
    return true;
  } catch (error) {
    tellOtherWay(tenant, error, note);
    return false;
  } finally {
    await rm(path, { force: true });
  }
}

/** Says why rows take the way of ingest; throws the error where that is none that the service has to do with. */
function tellOtherWay(tenant: string, error: unknown, note: Sending['note']): void {
  const isAway = error instanceof AppError && error.code === 'service_unreachable';
  if (!(error instanceof ApiError) && !isAway) throw error;
  note(`${tenant} goes through ingest: ${error.message}`);
}

/** Cuts days of stores into portions that the service takes at once. */
function* portions(leaves: Leaves): Generator<Leaves> {
  let open: Leaves = [];
  let room = mostDays;
  for (const { store, days } of leaves) {
    for (let from = 0; from < days.length; ) {
      const some = days.slice(from, from + room);
      open.push({ store, days: some });
      from += some.length;
      room -= some.length;
      if (room > 0) continue;
      yield open;
      open = [];
      room = mostDays;
    }
  }
  if (open.length > 0) yield open;
}
