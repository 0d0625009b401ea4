import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { holdPace } from '../../../test/held-pace.ts';
import { createLog } from '../../platform/log.ts';
import { cutParts } from '../../records/index.ts';
import { freeze } from '../../records/read/testing/freeze.ts';
import { bytesOf } from '../encode/chunk-files.ts';
import { createFormat } from '../formats/create-format.ts';
import type { FileFormat, FileOptions } from '../formats/format.ts';
import type { WorkContext } from './context.ts';
import { startExportJobs, takeNextJob } from './hold-jobs.ts';
import { listObjects } from './queries.ts';
import { useTestExports } from './testing/test-exports.ts';

const exports = useTestExports();
beforeAll(() => exports.ingest('T', 100));
beforeEach(() => exports.db.query(sql`delete from exports`));

const csv = (tenant = 'T') => exports.create('csv', { tenant });

describe('what a job exports', () => {
  test('is what was stored when it was asked for, whatever arrives and moves meanwhile', async () => {
    await exports.ingest('M', 60);
    const { id } = await csv('M');
    let acts = 0;
    let arrival: Promise<void> | undefined;
    await exports.work(
      exports.storeWith(async () => {
        const act = ++acts;
        if (act === 1) arrival = exports.ingest('M', 30, 'late');
        // A move of days that change under it gives up.
        await arrival;
        if (act === 2) await freeze(exports.db, exports.cold, { tenant: 'M', id: 'seg_w' });
      }),
    );
    const job = await exports.job(id);
    expect(job, job.error ?? '').toMatchObject({ state: 'completed', rows_done: 60 });
    expect((await exports.file(id)).toString()).not.toContain('late');
    await exports.db.query(sql`delete from exports`);
    const { id: later } = await csv('M');
    await exports.work();
    expect(await exports.job(later)).toMatchObject({ state: 'completed', rows_done: 90 });
  });

  test('is of the tags as they were, whatever becomes of them', async () => {
    await exports.db.query(sql`
      insert into tags (tenant, id, store, first_day, last_day, dataset, created_by)
      values ('T', 'tag_1', 'A', '2001-03-01', '2001-03-02', 'training', 'test')`);
    const { id } = await exports.create('csv', { tenant: 'T', dataset: 'training' });
    const { rows_total: total } = await exports.job(id);
    await exports.db.query(sql`delete from tags`);
    await exports.work();
    expect(await exports.job(id)).toMatchObject({ state: 'completed', rows_done: total });
    expect(total).toBeGreaterThan(0);
    const rows = (await exports.file(id)).toString().match(/^"T","A",.*"training","/gm);
    expect(rows).toHaveLength(total ?? 0);
  });

  test('is counted first where counters cannot tell', async () => {
    await exports.ingest('K', 30, 'some');
    await exports.ingest('K', 40, 'other');
    const { id, rows_total } = await exports.create('csv', { tenant: 'K', kind: 'some' });
    expect(rows_total).toBeNull();
    await exports.work();
    expect(await exports.job(id)).toMatchObject({ state: 'completed', rows_total: 30 });
  });

  test.each(['csv', 'ndjson', 'parquet'] as const)(
    'is what a where says, counted first, in both tiers (%s)',
    async (format) => {
      const tenant = `where ${format}`;
      await exports.ingest(tenant, 90);
      await freeze(exports.db, exports.cold, {
        tenant,
        id: `seg_where_${format}`,
        filter: "store = 'A' or bytes % 2 = 0",
      });
      const hostile = JSON.stringify(`it's \\ $1'; drop table exports; --`);
      const where = `text != ${hostile} and n >= 45 and n < 75.5 and text ilike "%\\"QUOTED\\""`;
      const { id, rows_total } = await exports.create(format, { tenant, where });
      expect(rows_total).toBeNull();
      await exports.ingest(tenant, 90, 'late');
      await exports.work();
      const job = await exports.job(id);
      expect(job).toMatchObject({ state: 'completed', rows_total: 31, rows_done: 31 });
      expect(job.manifest).toMatchObject({ rows: 31, request: { where } });
      expect(job.file_name).toMatch(/_where\./);
    },
  );

  test('is read from a remote store only where an earlier attempt has put it, and once', async () => {
    const { id } = await csv();
    const read: string[] = [];
    const remote = (beforePut = () => {}) => {
      const { store } = exports.storeWith(beforePut);
      const get: typeof store.get = (key, ...rest) => {
        read.push(key);
        return store.get(key, ...rest);
      };
      return { store: { ...store, pathOf: () => null, get } };
    };
    let puts = 0;
    await exports.work(
      remote(() => {
        puts += 1;
        if (puts === 4) throw new Error('the process is cut off');
      }),
    );
    expect(read).toEqual([]);
    const parts = await listObjects(exports.db, { tenant: 'T', id });
    const kept = parts.map((part) => part.object_key);
    expect(kept.length).toBeGreaterThan(0);
    await exports.work(remote());
    expect(await exports.job(id)).toMatchObject({ state: 'completed', rows_done: 100 });
    expect(read).toEqual(kept);
    const sha256 = createHash('sha256').update(await exports.file(id));
    expect((await exports.job(id)).sha256?.equals(sha256.digest())).toBe(true);
  });

  test('is never a file that misses records which were there', async () => {
    await exports.ingest('GONE', 40);
    const { id } = await csv('GONE');
    await exports.db.query(sql`
      delete from enrichment_records where tenant = 'GONE' and event_id = 'k-7'`);
    await exports.work();
    const job = await exports.job(id);
    expect(job).toMatchObject({ state: 'failed', error_code: 'export_mismatch' });
    expect(job.error).toContain('39 rows, the slice had 40');
    expect(job.has_file).toBe(false);
  });
});

describe('a job of cold records', () => {
  beforeAll(async () => {
    await exports.ingest('C', 140);
    await freeze(exports.db, exports.cold, { tenant: 'C', id: 'seg_c' });
  });

  const isLast = (key: string) => /\/7\.[^/]+$/.test(key);
  /** Formats that note what is read back, and change the bytes of the bodies. */
  function formats(change: (chunk: Buffer) => Buffer = (chunk) => chunk) {
    const readBack: number[] = [];
    const create = (options: FileOptions): FileFormat => {
      const format = createFormat(options);
      return {
        ...format,
        startBody(source, slice, more) {
          const body = format.startBody(source, slice, more);
          return {
            ...body,
            async *chunks() {
              for await (const chunk of bytesOf(body.chunks())) yield change(chunk);
            },
          };
        },
        prove(duckdb, written) {
          readBack.push(written.rows);
          return format.prove(duckdb, written);
        },
      };
    };
    return { readBack, createFormat: create };
  }

  test.each([
    ['csv', 1],
    ['ndjson', 1],
    ['parquet', 7],
  ] as const)('reads back a share of the parts of %s', async (format, times) => {
    const { id } = await exports.create(format, { tenant: 'C' });
    const { readBack, ...context } = formats();
    await exports.work(context);
    const job = await exports.job(id);
    expect(job).toMatchObject({ state: 'completed', rows_done: 140, parts_total: 7 });
    expect(readBack).toHaveLength(times);
    expect(job.manifest?.proof).toBe(format === 'parquet' ? 'content' : 'sample');
  });

  test.each([
    ['csv', 7],
    ['csv', 1],
    ['ndjson', 1],
  ] as const)(
    'is never completed when %s of %i parts is not what was read',
    async (format, parts) => {
      const { id } = await exports.create(format, { tenant: 'C' });
      const wrong = formats((chunk) =>
        Buffer.from(chunk.toString('latin1').replace('"k-', '"x-'), 'latin1'),
      );
      await exports.work({ ...wrong, ...(parts === 1 && { cut: cutParts }) });
      const job = await exports.job(id);
      expect(job).toMatchObject({ state: 'queued', error_code: 'internal_error' });
      expect(job.parts_total).toBe(parts);
      expect(job.error).toContain('other records than were encoded');
    },
  );

  test('is never completed when the store holds other bytes than it was given', async () => {
    const { id } = await csv('C');
    const { store } = exports.cold;
    const puts: string[] = [];
    const wrong: WorkContext['store'] = {
      ...store,
      async put(key, path, signal) {
        puts.push(key);
        await store.put(key, path, signal);
        const bytes = await readFile(join(exports.cold.dir, key));
        bytes.writeUInt8(bytes.readUInt8(bytes.length - 5) ^ 1, bytes.length - 5);
        if (isLast(key)) await writeFile(join(exports.cold.dir, key), bytes);
      },
    };
    await exports.work({ store: wrong });
    const job = await exports.job(id);
    expect(job).toMatchObject({ state: 'queued', error_code: 'segment_damaged' });
    // It was made a second time before the attempt gave up.
    expect(puts.filter((key) => isLast(key))).toHaveLength(2);
    await exports.work();
    expect(await exports.job(id)).toMatchObject({ state: 'completed', rows_done: 140 });
  });

  test('is never completed when a part is lost on the way to the store', async () => {
    const { id } = await csv('C');
    const { store } = exports.cold;
    const losing: WorkContext['store'] = {
      ...store,
      async put(key, path, signal) {
        if (!isLast(key)) await store.put(key, path, signal);
      },
    };
    await exports.work({ store: losing });
    expect(await exports.job(id)).toMatchObject({ state: 'queued', error_code: 'segment_damaged' });
  });
});

describe('turns', () => {
  test('those who asked for jobs take turns, whoever asked for most, and first', async () => {
    const ask = async (by: string) => {
      const { id } = await csv('EMPTY');
      await exports.db.query(sql`update exports set token_id = ${by} where id = ${id}`);
      return id;
    };
    const asked: string[] = [];
    for (const by of ['tok_a', 'tok_a', 'tok_a', 'tok_b', 'tok_b']) asked.push(await ask(by));
    const order: number[] = [];
    for (let n = 0; n < 5; n++) order.push(asked.indexOf((await exports.work()) ?? ''));
    expect(order).toEqual([0, 3, 1, 4, 2]);
  });

  test('go to the tenant that runs the fewest, then to the oldest job', async () => {
    for (let n = 0; n < 4; n++) await csv('MANY');
    await csv('FEW');
    const taken = [await exports.take(), await exports.take(), await exports.take()];
    expect(taken.map(({ job }) => job.tenant)).toEqual(['MANY', 'FEW', 'MANY']);
    // MANY runs as many as it may, which is seen without a session.
    const openSession = vi.fn(() => exports.db.openSession());
    const db = { ...exports.db, openSession };
    expect(await takeNextJob(exports.context({ db }))).toBeUndefined();
    expect(openSession).not.toHaveBeenCalled();
    await taken[0]?.session.close();
    const again = await exports.take();
    expect(again.job).toMatchObject({ tenant: 'MANY', attempts: 2, id: taken[0]?.job.id });
    for (const { session } of [...taken, again]) await session.close();
  });

  test('are taken by one process each', async () => {
    for (let n = 0; n < 6; n++) await csv(`T${n}`);
    const taken = await Promise.all(Array.from({ length: 12 }, () => exports.tryTake()));
    const ids = taken.flatMap((each) => (each === undefined ? [] : [each.job.id]));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(6);
    for (const each of taken) await each?.session.close();
  });

  test('of a runner are worked off by itself, so many at once', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await csv(n < 3 ? 'EMPTY' : `T${n}`)).id);
    const onEnded = vi.fn();
    const runner = startExportJobs(exports.context({ perTenant: 1 }), {
      places: 2,
      onEnded,
      log: createLog('silent'),
    });
    runner.poke();
    const states = async () =>
      (await Promise.all(ids.map((id) => exports.job(id)))).map(({ state }) => state);
    await expect.poll(states, { timeout: 120_000 }).toEqual(ids.map(() => 'completed'));
    await runner.stop();
    expect(onEnded).toHaveBeenCalledTimes(5);
  });
});

describe('a job that gives way to clients', () => {
  test('does so while it encodes, and while it reads what the store holds', async () => {
    const { id } = await csv();
    const doneAtRests = new Set<number>();
    const rest = async () => {
      doneAtRests.add((await listObjects(exports.db, { tenant: 'T', id })).length);
    };
    await exports.work({ pace: { begin: () => rest } });
    const { parts_total, state } = await exports.job(id);
    expect(state).toBe('completed');
    expect(doneAtRests).toContain(0);
    expect(doneAtRests).toContain(parts_total);
  });

  test('is stopped at once, and finished by whoever takes it up', async () => {
    const { id } = await csv();
    const { pace, resting } = holdPace();
    const stopping = new AbortController();
    const working = exports.work({ pace }, stopping.signal);
    await resting;
    stopping.abort();
    await working;
    expect(await exports.job(id)).toMatchObject({ state: 'queued' });
    await exports.work();
    expect(await exports.job(id)).toMatchObject({ state: 'completed', rows_done: 100 });
  });
});
