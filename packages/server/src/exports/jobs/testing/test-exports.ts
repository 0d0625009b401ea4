import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { vi } from 'vitest';
import { testActor } from '../../../../test/actor.ts';
import { createTestDatabase } from '../../../../test/database.ts';
import { use } from '../../../../test/use.ts';
import { createGate } from '../../../kernel/gate.ts';
import { createLog } from '../../../platform/log.ts';
import { createStoreFence } from '../../../platform/objects/fence.ts';
import { unpaced } from '../../../platform/work/pace.ts';
import { cutParts } from '../../../records/index.ts';
import { type ColdStore, openColdStore } from '../../../records/read/testing/cold-store.ts';
import { freeze } from '../../../records/read/testing/freeze.ts';
import { ingest } from '../../../records/read/testing/walk.ts';
import type { ExportRequest } from '../../contract.ts';
import type { ExportJob } from '../../jobs.contract.ts';
import { createSchemaFinder } from '../../typed/find-schema.ts';
import type { JobFormat } from '../../values.ts';
import type { WorkContext } from '../context.ts';
import { createJob } from '../create.ts';
import { piecesOf } from '../file.ts';
import { attemptJob, type TakenJob, takeNextJob } from '../hold-jobs.ts';
import { findJob, listObjects } from '../queries.ts';

const partRows = 20;

/** A database, a store of objects, and as many workers as a test wants, for all tests of a file. */
export function useTestExports(): Awaited<ReturnType<typeof startTestExports>> {
  return use(startTestExports, (exports) => exports.stop());
}

async function startTestExports() {
  const db = await createTestDatabase();
  const cold = await openColdStore();
  const log = createLog('silent');
  const fence = createStoreFence({ db, store: cold.store, isKnown: async () => true });
  const spoolDir = join(cold.spoolDir, 'exports');
  await mkdir(spoolDir);
  /** What the work on jobs needs; a slice is cut every few rows. */
  const context = (more: Partial<WorkContext> = {}): WorkContext => ({
    db,
    source: {
      db,
      cold,
      encoders: createGate(2),
      spillDir: spoolDir,
      spillBytes: 2 ** 30,
      spoolDir,
    },
    store: cold.store,
    fence,
    days: 7,
    cut: (on, slice) => cutParts(on, slice, { rows: partRows, bytes: 2 ** 40 }),
    backoffSeconds: () => 0,
    perTenant: 2,
    pace: unpaced,
    audit: async () => {},
    openTarget: async () => {
      throw new Error('the test has no place of deliveries');
    },
    ...more,
  });
  const job = async (id: string) => {
    const found = await findJob(db, id, null);
    if (found === undefined) throw new Error(`there is no job ${id}`);
    return found;
  };
  const ingestHere = (tenant: string, count: number, kind = 'k'): Promise<void> =>
    ingest(db, cold, [Array.from({ length: count }, (_, n) => recordText(tenant, kind, n))]);
  /** Takes the next job; undefined when there is none. */
  const tryTake = (): Promise<TakenJob | undefined> => takeNextJob(context());
  /** Works on a job that was taken. */
  const attempt = (
    taken: TakenJob,
    more?: Partial<WorkContext>,
    signal = new AbortController().signal,
  ): Promise<void> => attemptJob(context(more), { taken, signal, log });
  return {
    db,
    cold,
    fence,
    context,
    /** Stores as many records in two stores and seven days; their ids begin with the kind. */
    ingest: ingestHere,
    /** Does so, and moves one of the stores into a segment. */
    async ingestBothTiers(tenant: string, count: number): Promise<void> {
      await ingestHere(tenant, count);
      await freeze(db, cold, { tenant, id: 'seg_1', filter: `store = 'A'` });
    },
    create: (format: JobFormat, body: ExportRequest): Promise<ExportJob> => {
      const act = { actor: testActor, request: {} as FastifyRequest, audit: async () => {} };
      return createJob(db, { format, body, ...act, findSchema: createSchemaFinder({ db, cold }) });
    },
    /** Takes the next job and works on it, as a process would; undefined when there is none. */
    async work(more?: Partial<WorkContext>, signal?: AbortSignal): Promise<string | undefined> {
      const taken = await tryTake();
      if (taken === undefined) return undefined;
      await attempt(taken, more, signal);
      return taken.job.id;
    },
    tryTake,
    /** Takes the next job. The server may take a moment to notice that a session ended. */
    take: (): Promise<TakenJob> => vi.waitUntil(tryTake, { timeout: 120_000 }),
    attempt,
    /** The store, but something is done before an object is put. */
    storeWith: (beforePut: BeforePut) => ({ store: watchPuts(cold.store, beforePut) }),
    job,
    /** The bytes of a file as its objects hold them. */
    async file(id: string): Promise<Buffer> {
      const { ends } = await job(id);
      if (ends === null) throw new Error('the job has no file');
      const pieces = piecesOf(ends, await listObjects(db, await job(id)));
      return Buffer.concat(await Promise.all(pieces.map((piece) => readPiece(cold, piece))));
    },
    async keys(): Promise<string[]> {
      const keys: string[] = [];
      for await (const { key } of cold.store.list('exports/')) keys.push(key);
      return keys.sort();
    },
    async stop(): Promise<void> {
      await cold.close();
      await db.drop();
    },
  };
}

type BeforePut = (key: string) => Promise<void> | void;

function watchPuts(store: ColdStore['store'], beforePut: BeforePut): ColdStore['store'] {
  return {
    ...store,
    async put(key, path, signal) {
      await beforePut(key);
      signal?.throwIfAborted();
      await store.put(key, path, signal);
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
