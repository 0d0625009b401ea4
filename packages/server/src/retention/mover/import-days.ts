import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { FastifyRequest } from 'fastify';
import { type Actor, assertReach, callerOf } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { createGate, createSharedBudget } from '../../kernel/gate.ts';
import { newId } from '../../kernel/ids.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import { makeFolders } from '../../platform/make-folders.ts';
import { fromFileSystem } from '../../platform/objects/objects.ts';
import {
  assertOpen,
  dayKey,
  isSameTriple,
  readUpload,
  sumTriples,
  type Upload,
  UploadFault,
} from '../../records/segments.ts';
import { type Imported, type ImportPlan, retentionContract } from '../contract.ts';
import { findDueDays } from '../policies/queries.ts';
import { parquetType } from '../values.ts';
import { findErasureState } from './erase-queries.ts';
import { waitForTenant } from './erase-records.ts';
import { listHeldDays, readClock } from './import-queries.ts';
import type { ImportRequest } from './import-steps.ts';
import { journalMove, newSegment } from './journal.ts';
import { isSmall, type Move, type MoverContext } from './move.ts';
import { resumeMoves, runMove } from './run-move.ts';
import { createRunning } from './running.ts';

type DayImportOptions = MoverContext & {
  readonly maxEnrichmentBytes: number;
  /** How long an import waits for another mover of the tenant; 10 s by default. */
  readonly lockMillis?: number;
};

/** Whose records are sent, and for which import. */
type SentDays = { readonly tenant: string; readonly import?: string };

/** Stores records of whole days straight as segments. */
type DayImporter = {
  /** Says which of these days may be imported so: those that hold nothing, and that the policy would move. */
  plan(actor: Actor, asked: ImportPlan): Promise<ImportPlan>;
  /**
   * Stores typed rows of one tenant, given as a file of Parquet, which is removed. Throws 400 `upload_invalid`, 409
   * `days_held`, `job_finished`, `tenant_busy`, `tenant_on_hold`, `store_read_only`, `store_fenced`, and 503; nothing is
   * stored then.
   */
  take(actor: Actor, sent: SentDays, path: string): Promise<Imported>;
  /** Stops the imports that run. */
  stop(): Promise<void>;
};

/** So many uploads are read at once, each of which may take the memory of DuckDB. */
const atOnce = 4;
/** A file that is larger is refused. */
const maxUploadBytes = 512 * 2 ** 20;
/** So many are received at once, in all and of one caller: that many files lie on the disk. */
const uploads = { total: 16, each: 8 };
const idleMillis = 60_000;
/** An import is tried so often, when versions or exports are frozen meanwhile. */
const attempts = 3;

export function addImportRoutes(http: HttpServer, importer: DayImporter, spoolDir: string): void {
  http.route(retentionContract.planImport, ({ body, actor }) => importer.plan(actor, body));
  const budget = createSharedBudget(uploads);
  http.route(retentionContract.importDays, async ({ query, actor, request, reply, recheck }) => {
    assertReach(actor, query.tenant);
    const own = budget.of(callerOf(actor));
    if (!own.take(1)) {
      reply.header('connection', 'close');
      throw new AppError('ingest_busy', {
        detail: `At once ${uploads.total} uploads are taken, and ${uploads.each} of one caller. Send it again later.`,
        retryAfterSeconds: 5,
      });
    }
    const path = join(spoolDir, `${newId('upload')}.parquet`);
    try {
      await receive(request, path, spoolDir);
      await recheck();
      return await importer.take(actor, query, path);
    } catch (error) {
      // The rest of the body could not be told from the next request.
      if (!request.raw.complete) reply.header('connection', 'close');
      throw error;
    } finally {
      await rm(path, { force: true });
      own.give(1);
    }
  });
}

/** Writes the body of a request into a file. Throws 413, 415, 503, and `request_aborted`. */
async function receive({ raw }: FastifyRequest, path: string, dir: string): Promise<void> {
  const type = (raw.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== parquetType) {
    throw new AppError('media_type_unsupported', { detail: `Send typed rows as ${parquetType}.` });
  }
  await makeFolders(dir, 0o700);
  let bytes = 0;
  const fallSilent = () => raw.destroy(new Error('the sender fell silent'));
  raw.setTimeout(idleMillis, fallSilent);
  try {
    await pipeline(
      raw.iterator({ destroyOnReturn: false }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          bytes += chunk.length;
          if (bytes > maxUploadBytes) {
            throw new AppError('body_too_large', {
              detail: `An upload has at most ${maxUploadBytes} bytes. Send fewer days at once.`,
            });
          }
          yield chunk;
        }
      },
      createWriteStream(path, { mode: 0o600 }),
    );
  } catch (error) {
    const fault = fromFileSystem(error, 'The upload cannot be kept for a moment');
    if (fault instanceof AppError) throw fault;
    throw new AppError('request_aborted', { cause: error });
  } finally {
    raw.setTimeout(0);
    raw.off('timeout', fallSilent);
  }
}

export function createDayImporter(options: DayImportOptions): DayImporter {
  const { db, duckdb, maxEnrichmentBytes, lockMillis: waitMillis = 10_000 } = options;
  const gate = createGate(atOnce);
  const running = createRunning();
  const { signal } = running;

  async function take(actor: Actor, sent: SentDays, path: string): Promise<Imported> {
    const { tenant, import: importId } = sent;
    if (importId !== undefined) await assertOpen(db, actor, importId);
    const upload = await readUpload(duckdb, { tenant, path, maxEnrichmentBytes, signal }).catch(
      (error: unknown) => {
        if (!(error instanceof UploadFault)) throw error;
        throw new AppError('upload_invalid', {
          detail: `The upload cannot be stored as it is: ${error.message}. Nothing was stored.`,
          cause: error,
        });
      },
    );
    const work = (own: AbortSignal) =>
      storeUpload(options, { sent, upload, signal: own, requestedBy: actor.name });
    return waitForTenant(db, tenant, { waitMillis, signal, work });
  }

  return {
    async plan({ tenants }, { tenant, leaves, known: asked = [] }) {
      if (tenants !== null && !tenants.includes(tenant)) return { tenant, leaves: [] };
      const days = leaves.flatMap(({ store, days }) => days.map((day) => ({ store, day })));
      const listed = await listHeldDays(db, tenant, [...days, ...asked]);
      const held = new Map(listed.map((day) => [dayKey(day), day]));
      const known = asked.filter((day) => {
        const triple = held.get(dayKey(day));
        return triple !== undefined && isSameTriple(triple, { ...day, digest: `0x${day.digest}` });
      });
      const { hold, lastMoveDay } = await findDueDays(db, tenant);
      const free = leaves.map(({ store, days }) => ({
        store,
        days: days.filter(
          (day) => !hold && day <= lastMoveDay && !held.has(dayKey({ store, day })),
        ),
      }));
      return { tenant, leaves: free.filter(({ days }) => days.length > 0), known };
    },
    take(actor, sent, path) {
      const work = gate.run(() => take(actor, sent, path));
      running.add(work);
      return work;
    },
    stop: () => running.stop(),
  };
}

/** Stores what was uploaded, under the lock of its tenant. */
async function storeUpload(
  context: MoverContext,
  {
    sent: { tenant, import: importId },
    upload,
    requestedBy,
    signal,
  }: { sent: SentDays; upload: Upload; requestedBy: string; signal: AbortSignal },
): Promise<Imported> {
  const { db } = context;
  // An import that was killed after its copy may have these very days.
  await resumeMoves(context, tenant, { signal });
  const days = upload.days.map(({ day }) => day).sort();
  const range = { firstDay: days[0] ?? '', lastDay: days.at(-1) ?? '' };
  const [held] = await listHeldDays(db, tenant, upload.days);
  const { lastMoveDay } = await findDueDays(db, tenant);
  if (held !== undefined) {
    throw refusal('days_held', `Store ${held.store} holds records on ${held.day}.`);
  }
  if (range.lastDay > lastMoveDay) {
    throw refusal('not_due', `The policy keeps days after ${lastMoveDay} hot.`);
  }
  await context.fence.advance(signal);
  for (let attempt = 1; ; attempt += 1) {
    const recordedAt = await readClock(db);
    const request: ImportRequest = {
      recorded_at: recordedAt,
      requested_by: requestedBy,
      ...(importId !== undefined && { import: importId }),
    };
    const planned = await journalMove(context, {
      tenant,
      runId: null,
      kind: 'import',
      ...range,
      request,
      in: [],
      out: [newSegment({ tenant, ...range })],
    });
    const move: Move = { ...planned, upload, isSmall: isSmall(upload.days) };
    const { isSwitched } = await runMove(context, move, signal);
    const { count, bytes } = sumTriples(upload.days);
    if (isSwitched) return { id: move.id, tenant, count, bytes };
    const state = await findErasureState(db, move);
    if (state?.error_code !== 'pinned_meanwhile' || attempt === attempts) {
      throw refusal(state?.error_code ?? '', state?.error ?? '');
    }
  }
}

const refusals = {
  days_held: 'days_held',
  not_due: 'days_held',
  pinned_meanwhile: 'days_held',
  tenant_on_hold: 'tenant_on_hold',
  import_ended: 'job_finished',
} as const;

/** The error of an import that was not stored, for the reason in the journal. */
function refusal(code: string, reason: string): AppError {
  const known = refusals[code as keyof typeof refusals] as
    | (typeof refusals)[keyof typeof refusals]
    | undefined;
  return new AppError(known ?? 'cold_tier_unavailable', {
    detail: `Nothing was stored. ${reason} Send these records through POST /enrichment/records.`,
  });
}
