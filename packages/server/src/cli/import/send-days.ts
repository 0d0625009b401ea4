import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Imported, ImportPlan } from '../../contract.ts';
import { sideBySide } from '../../kernel/side-by-side.ts';
import { parquetType } from '../../retention/values.ts';
import { ApiError } from '../api-error.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { parseAnswer } from '../parse-answer.ts';
import { isUnreachable } from '../retry.ts';
import type { FoundFile, Importer } from './find-files.ts';
import type { Totals } from './report.ts';

/** Rows of a file from one on, which counts from 0, and up to another, which is not part of it. */
export type Part = {
  readonly file: FoundFile;
  readonly from: number;
  /** Null: to the end of a file whose rows nobody has counted. */
  readonly until: number | null;
};

/** Rows that are looked at together: a day that lies in several files is imported at once. */
export type Batch = {
  readonly parts: readonly Part[];
  /** Whether days of them may be imported at once. */
  readonly isTyped: boolean;
};

/** So many rows are staged together. */
const stagedRows = 1_000_000;
const mostFiles = 1000;
/** Fewer rows of a tenant are quicker by ingest. */
const leastRows = 1000;
/** So many tenants are sent at once. */
const sendersAtOnce = 4;
/** The service is asked about so many days at once. */
const mostDays = 5_000;

/**
 * Puts neighbours together that have the same columns, up to a million rows, and cuts files that have more. Where rows
 * are not counted, each file is a batch by itself.
 */
export function* batchesOf(
  files: readonly FoundFile[],
  {
    firstRow,
    isCheck = false,
    mostRows = stagedRows,
  }: {
    /** How many rows of a file are passed over, because they were answered before. */
    firstRow: (file: FoundFile) => number;
    /** Whether nothing will be stored. */
    isCheck?: boolean;
    mostRows?: number;
  },
): Generator<Batch> {
  let open: Part[] = [];
  let room = mostRows;
  const close = function* () {
    if (open.length > 0) yield { parts: open, isTyped: true };
    open = [];
    room = mostRows;
  };
  for (const file of files) {
    const { shape, rows } = file.source;
    let from = firstRow(file);
    // Each part of CSV is found by reading the file from its beginning, which takes longer than to check known rows anew.
    const isOnePass = isCheck && file.format === 'csv' && rows !== null && rows - from > mostRows;
    const isTyped = shape !== null && rows !== null && !isOnePass;
    const isOther = open.length > 0 && open[0]?.file.source.shape !== shape;
    if (!isTyped || isOther || open.length === mostFiles) yield* close();
    if (!isTyped) {
      yield { parts: [{ file, from, until: rows }], isTyped };
      continue;
    }
    do {
      const until = Math.max(from, Math.min(rows, from + room));
      open.push({ file, from, until });
      room -= until - from;
      from = until;
      if (room === 0) yield* close();
    } while (from < rows);
  }
  yield* close();
}

type Sending = {
  readonly batch: Batch;
  readonly totals: Totals;
  /** Whether nothing is stored. */
  readonly isCheck: boolean;
  /** Names the import that the records belong to. */
  readonly query: { readonly import?: string };
  /** Is told how many more rows are stored or known. */
  readonly onRows: (rows: number) => void;
  readonly note: (text: string) => void;
};

/**
 * Stores those rows of a batch at once that fall on days which hold nothing and are old enough, tenant by tenant, and
 * passes over those of days that hold just these rows. All others are kept by the stage, and are to be sent through
 * ingest. Nothing here has to succeed: what the service does not take in this way, or does not answer, is sent through
 * ingest as well, which finds what was stored.
 */
export async function sendDays(
  context: Context,
  client: Client,
  { stage }: Importer,
  sending: Sending,
): Promise<void> {
  await stage.begin();
  const stretches = sending.batch.parts.flatMap(({ file, from, until }, number) =>
    until === null || until === from ? [] : [file.source.stretch(number, { from, until })],
  );
  if (stretches.length === 0) return;
  const staged = [...(await stage.fill(stretches))];
  const some = { atOnce: sendersAtOnce, signal: context.io.signal };
  const free = await sideBySide(sending.isCheck ? [] : staged, some, ([tenant, leaves]) =>
    planTenant(client, { tenant, leaves, note: sending.note }),
  );
  const known = await sideBySide([...(await stage.weigh(free))], some, ([tenant, days]) =>
    planKnown(client, { tenant, days }),
  );
  const { taken, knownRows } = await stage.take(known);
  sending.totals.duplicates += knownRows;
  sending.onRows(knownRows);
  await sideBySide(taken, some, async ({ tenant, rows }) => {
    const isStored =
      rows >= leastRows && (await sendTenant(client, stage, { ...sending, tenant, rows }));
    if (!isStored) await stage.keep(tenant);
  });
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

type Known = NonNullable<ImportPlan['known']>;

/**
 * Asks which days of a tenant hold just the rows that fall on them: what is known by its triple need not be sent. Without
 * an answer, as of a release before, all of them are.
 */
async function planKnown(
  client: Client,
  { tenant, days }: { tenant: string; days: Known },
): Promise<{ tenant: string; days: Known }> {
  const known: Known = [];
  try {
    for (let from = 0; from < days.length; from += mostDays) {
      const body = { tenant, leaves: [], known: days.slice(from, from + mostDays) };
      known.push(...((await client.json('POST /enrichment/imports/plan', { body })).known ?? []));
    }
  } catch (error) {
    tellOtherWay(tenant, error, () => {});
  }
  return { tenant, days: known };
}

/** Sends the rows of a tenant that were taken. Answers whether they are stored. */
async function sendTenant(
  client: Client,
  stage: Importer['stage'],
  { tenant, rows, totals, query, onRows, note }: Sending & { tenant: string; rows: number },
): Promise<boolean> {
  const path = await stage.write(tenant);
  if (path === null) return false;
  try {
    const answer = await client.upload(
      'POST /enrichment/imports',
      createReadStream(path, { highWaterMark: 2 ** 18 }),
      { headers: { 'content-type': parquetType }, query: { ...query, tenant } },
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

/** Says why rows take the way of ingest; throws the error where they cannot, or the service has nothing to do with it. */
function tellOtherWay(tenant: string, error: unknown, note: Sending['note']): void {
  const isOfService = error instanceof ApiError && error.code !== 'job_finished';
  if (!isOfService && !isUnreachable(error)) throw error;
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
