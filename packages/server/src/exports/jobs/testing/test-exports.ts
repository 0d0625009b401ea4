import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { vi } from 'vitest';
import { testActor } from '../../../../test/actor.ts';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { createGate } from '../../../kernel/gate.ts';
import { createLog } from '../../../platform/log.ts';
import { createStoreFence, type StoreFence } from '../../../platform/objects/fence.ts';
import { unpaced } from '../../../platform/work/pace.ts';
import { cutParts } from '../../../records/index.ts';
import { type ColdStore, openColdStore } from '../../../records/read/testing/cold-store.ts';
import { ingest } from '../../../records/read/testing/walk.ts';
import type { ExportRequest } from '../../contract.ts';
import { createFormat } from '../../formats/index.ts';
import type { ExportJob } from '../../jobs.contract.ts';
import type { ExportFormat } from '../../values.ts';
import { createJob } from '../create.ts';
import type { StoredJob } from '../job.ts';
import { findJob } from '../queries.ts';
import { attemptJob, takeNextJob } from '../runner/attempt.ts';
import type { WorkContext } from '../runner/context.ts';
import { listObjects } from '../runner/queries.ts';
import { piecesOf } from '../send-pieces.ts';

export type TestExports = {
  readonly db: TestDatabase;
  readonly cold: ColdStore;
  readonly fence: StoreFence;
  /** What the work on jobs needs; a slice is cut every few rows. */
  context(more?: Partial<WorkContext>): WorkContext;
  /** Stores as many records in two stores and seven days; their ids begin with the kind. */
  ingest(tenant: string, count: number, kind?: string): Promise<void>;
  create(format: ExportFormat, body: ExportRequest): Promise<ExportJob>;
  /** Takes the next job and works on it, as a process would; undefined when there is none. */
  work(more?: Partial<WorkContext>, signal?: AbortSignal): Promise<string | undefined>;
  /** Takes the next job. The server may take a moment to notice that a session ended. */
  take(): Promise<NonNullable<Awaited<ReturnType<typeof takeNextJob>>>>;
  /** The store, but something is done before an object is put. */
  storeWith(beforePut: (key: string) => Promise<void> | void): Pick<WorkContext, 'store'>;
  job(id: string): Promise<StoredJob>;
  /** The bytes of a file as its objects hold them. */
  file(id: string): Promise<Buffer>;
  keys(): Promise<string[]>;
  stop(): Promise<void>;
};

const partRows = 20;

/** A database, a store of objects, and as many workers as a test wants. */
export async function startTestExports(): Promise<TestExports> {
  const db = await createTestDatabase();
  const cold = await openColdStore();
  const log = createLog('silent');
  const fence = createStoreFence({ db, store: cold.store, isKnown: async () => true });
  const spoolDir = join(cold.spoolDir, 'exports');
  await mkdir(spoolDir);
  const context = (more: Partial<WorkContext> = {}): WorkContext => ({
    db,
    source: {
      db,
      cold,
      spillDir: spoolDir,
      spillBytes: 2 ** 30,
      spoolDir,
      encoders: createGate(2),
    },
    store: cold.store,
    fence,
    createFormat,
    days: 7,
    cut: (on, slice) => cutParts(on, slice, { rows: partRows, bytes: 2 ** 40 }),
    backoffSeconds: () => 0,
    log,
    pace: unpaced,
    ...more,
  });
  const job = async (id: string) => {
    const found = await findJob(db, id, null);
    if (found === undefined) throw new Error(`there is no job ${id}`);
    return found;
  };
  return {
    db,
    cold,
    fence,
    context,
    ingest: (tenant, count, kind = 'k') =>
      ingest(db, cold, [Array.from({ length: count }, (_, n) => recordText(tenant, kind, n))]),
    create: (format, body) =>
      createJob(db, {
        format,
        body,
        actor: testActor,
        request: {} as FastifyRequest,
        audit: async () => {},
      }),
    async work(more, signal = new AbortController().signal) {
      const taken = await takeNextJob(db, 2);
      if (taken === undefined) return undefined;
      await attemptJob(context(more), taken, signal);
      return taken.job.id;
    },
    take: () => vi.waitUntil(() => takeNextJob(db, 2), { timeout: 120_000 }),
    storeWith(beforePut) {
      const { store } = cold;
      return {
        store: {
          ...store,
          async put(key, path, signal) {
            await beforePut(key);
            signal?.throwIfAborted();
            await store.put(key, path, signal);
          },
        },
      };
    },
    job,
    async file(id) {
      const { ends } = await job(id);
      if (ends === null) throw new Error('the job has no file');
      const pieces = piecesOf(ends, await listObjects(db, await job(id)));
      return Buffer.concat(await Promise.all(pieces.map((piece) => readPiece(cold, piece))));
    },
    async keys() {
      const keys: string[] = [];
      for await (const { key } of cold.store.list('exports/')) keys.push(key);
      return keys.sort();
    },
    async stop() {
      await cold.close();
      await db.drop();
    },
  };
}

async function readPiece(
  cold: ColdStore,
  { ref, start, end }: ReturnType<typeof piecesOf>[number],
): Promise<Buffer> {
  const opened = await cold.objects.open(ref, { anew: true });
  try {
    return (await readFile(opened.path)).subarray(start, end);
  } finally {
    await opened.release();
  }
}

function recordText(tenant: string, kind: string, n: number): string {
  return JSON.stringify({
    tenant,
    store: n % 2 === 0 ? 'A' : 'B',
    event_id: `${kind}-${n}`,
    occurred_at: `2001-03-0${(n % 7) + 1}T00:00:${String(n % 60).padStart(2, '0')}Z`,
    kind,
    enrichment: { n, text: 'line\nfeed, "quoted"' },
  });
}
