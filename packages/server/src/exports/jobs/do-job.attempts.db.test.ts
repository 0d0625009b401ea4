import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { fromFileSystem, storeUnavailable } from '../../platform/objects/objects.ts';
import { cutParts } from '../../records/index.ts';
import type { WorkContext } from './context.ts';
import { JobLost, whileHeld } from './hold-jobs.ts';
import { failJob, updateProgress } from './hold-queries.ts';
import { cancelOpenJob } from './queries.ts';
import { noteGoneExports } from './sweep.ts';
import { useTestExports } from './testing/test-exports.ts';

const exports = useTestExports();
beforeAll(() => exports.ingestBothTiers('T', 70));
beforeEach(() => exports.db.query(sql`delete from exports`));

const csv = (tenant = 'T') => exports.create('csv', { tenant });
const full = () => {
  const error = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
  throw fromFileSystem(error, 'The object cannot be written');
};

describe('an attempt', () => {
  test('that fails leaves the job to the next one, and keeps the parts that are done', async () => {
    const { id } = await csv();
    let puts = 0;
    const failing = () => {
      puts += 1;
      if (puts === 4) full();
    };
    const cut: WorkContext['cut'] = (on, slice) =>
      cutParts(on, slice, { rows: 10, bytes: 2 ** 40 });
    await exports.work({ ...exports.storeWith(failing), cut });
    const left = await exports.job(id);
    expect(left).toMatchObject({ state: 'queued', error_code: 'cold_tier_unavailable' });
    expect(left.error).toContain('ENOSPC');
    const keys: string[] = [];
    await exports.work(exports.storeWith((key) => void keys.push(key)));
    const job = await exports.job(id);
    expect(job).toMatchObject({ state: 'completed', attempts: 2, error: null, rows_done: 70 });
    // Those under way beside the one that failed may be made anew.
    const parts = keys.filter((key) => !key.includes('/ends.'));
    expect(parts.length).toBeLessThanOrEqual((job.parts_total ?? 0) - 1);
  });

  test('that fails for the fifth time in a row without a part ends the job', async () => {
    const { id } = await csv();
    for (let n = 0; n < 5; n++) expect(await exports.work(exports.storeWith(full))).toBe(id);
    const job = await exports.job(id);
    expect(job).toMatchObject({ state: 'failed', error_code: 'cold_tier_unavailable' });
    expect(job.error).toContain('tried 5 times');
    expect(await exports.work()).toBeUndefined();
  });

  test('waits before the next', async () => {
    const { id } = await csv();
    await exports.work({ ...exports.storeWith(full), backoffSeconds: () => 1000 });
    expect(await exports.work()).toBeUndefined();
    expect((await exports.job(id)).state).toBe('queued');
  });

  test.each([
    ['no process of the previous release takes', 'n >= 60', 0],
    ['such a process takes too', undefined, 1],
  ])('leaves a job that %s (where: %s)', async (_, where, taken) => {
    const { id } = await exports.create('csv', { tenant: 'T', ...(where && { where }) });
    // What the previous release takes: it knows none of the columns that came later.
    const free = () =>
      exports.db.query(sql`select from exports where state in ('queued', 'running')
        and (not_before is null or not_before <= now())`);
    expect(await free()).toHaveLength(taken);
    await exports.work({ ...exports.storeWith(full), backoffSeconds: () => 1000 });
    expect(await exports.work()).toBeUndefined();
    await exports.db.query(sql`update exports set due_at = now()`);
    await exports.db.query(
      sql`update exports set not_before = now() where not_before < 'infinity'`,
    );
    expect(await free()).toHaveLength(taken);
    await (await exports.take()).session.close();
    expect(await exports.job(id)).toMatchObject({ state: 'running' });
    expect(await free()).toHaveLength(taken);
    await exports.attempt(await exports.take());
    expect(await exports.job(id)).toMatchObject({ state: 'completed', attempts: 3 });
  });

  test('that meets a store which is away waits for it, says so, and fails after an hour', async () => {
    const { id } = await csv();
    const away = exports.storeWith(() => {
      throw storeUnavailable('The object cannot be written', 'the store says SlowDown');
    });
    const tryNow = async () => {
      await exports.db.query(sql`update exports set not_before = null`);
      await exports.work(away);
      return exports.job(id);
    };
    for (let n = 0; n < 7; n++) {
      expect(await tryNow()).toMatchObject({ state: 'waiting', waiting_since: expect.any(String) });
    }
    expect((await exports.job(id)).error).toContain('SlowDown');
    expect(await exports.work()).toBeUndefined();
    await exports.db.query(sql`update exports set waiting_since = now() - interval '1 hour'`);
    expect(await tryNow()).toMatchObject({
      state: 'failed',
      error_code: 'cold_tier_unavailable',
      error: expect.stringContaining('waited for an hour'),
    });
  });

  test('that meets a store which comes back goes on', async () => {
    const { id } = await csv();
    let puts = 0;
    const away = () => {
      puts += 1;
      if (puts > 2) throw storeUnavailable('The object cannot be written', 'SlowDown');
    };
    await exports.work(exports.storeWith(away));
    expect((await exports.job(id)).state).toBe('waiting');
    await exports.db.query(sql`update exports set not_before = null`);
    await exports.work();
    expect(await exports.job(id)).toMatchObject({ state: 'completed', waiting_since: null });
  });

  test('makes a part anew whose object went or was damaged', async () => {
    const { id } = await csv();
    const keys: string[] = [];
    await exports.work(
      exports.storeWith((key) => {
        if (keys.length === 3) full();
        keys.push(key);
      }),
    );
    const [gone = '', damaged = ''] = keys;
    await exports.cold.store.remove(gone);
    await truncate(join(exports.cold.dir, damaged), 10);
    await exports.work();
    expect(await exports.job(id)).toMatchObject({ state: 'completed', rows_done: 70 });
  });

  test('ends at once when the process stops, and the job waits for another', async () => {
    const { id } = await csv();
    const stop = new AbortController();
    await exports.work(
      exports.storeWith(() => stop.abort()),
      stop.signal,
    );
    expect(await exports.job(id)).toMatchObject({ state: 'queued', error: null, failures: 0 });
    await exports.work();
    expect(await exports.job(id)).toMatchObject({ state: 'completed', attempts: 2 });
  });

  test('of a process that lost its session changes nothing once another has the job', async () => {
    const { id } = await csv();
    const first = await exports.take();
    let second: Promise<void> | undefined;
    let puts = 0;
    const { store } = exports.cold;
    await exports.attempt(first, {
      store: {
        ...store,
        // It does not even notice that it was aborted.
        async put(key, path) {
          puts += 1;
          if (puts === 3) {
            await first.session.close();
            const taken = await exports.take();
            expect(taken.job.id).toBe(id);
            second = exports.attempt(taken);
            await second;
          }
          await store.put(key, path);
        },
      },
    });
    await second;
    const job = await exports.job(id);
    expect(job).toMatchObject({ state: 'completed', attempts: 2, rows_done: 70 });
    expect((await exports.file(id)).toString().split('\n').length).toBeGreaterThan(70);
  });

  test('writes nothing any more once another has the job', async () => {
    const { id } = await csv();
    const first = await exports.take();
    await whileHeld(exports.db, first.job, async () => {});
    await first.session.close();
    const second = await exports.take();
    expect(second.job.id).toBe(id);
    const write = vi.fn();
    await expect(whileHeld(exports.db, first.job, write)).rejects.toThrow(JobLost);
    expect(write).not.toHaveBeenCalled();
    expect(await updateProgress(exports.db, first.job, { rows: 1, bytes: 1 })).toBe(false);
    await failJob(exports.db, first.job, { code: 'internal_error', text: 'late' });
    expect(await exports.job(id)).toMatchObject({ state: 'running', rows_done: 0, error: null });
    await exports.attempt(second);
    expect((await exports.job(id)).state).toBe('completed');
  });

  test('is cut off by a cancel, from whatever process', async () => {
    const { id } = await csv();
    const { store } = exports.cold;
    const aborted = vi.fn();
    await exports.work({
      store: {
        ...store,
        async put(_key, _path, signal) {
          await cancelOpenJob(exports.db, { tenant: 'T', id });
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
          aborted();
          signal?.throwIfAborted();
        },
      },
    });
    expect(aborted).toHaveBeenCalled();
    expect(await exports.job(id)).toMatchObject({ state: 'cancelled', has_file: false });
  });

  test('is cut off by an erasure in its slice, and by none beside it', async () => {
    const { id } = await csv();
    const gone = (day: string) => {
      const lost = {
        tenant: 'T',
        kind: 'erase',
        days: [{ store: 'A', day }],
        window: null,
      } as const;
      return exports.db.transaction((connection) => noteGoneExports(connection, lost));
    };
    const { id: other } = await exports.create('csv', { tenant: 'T', store: 'B' });
    await exports.work(exports.storeWith(async () => void (await gone('2001-03-01'))));
    expect(await exports.job(id)).toMatchObject({ state: 'failed', error_code: 'slice_erased' });
    await exports.work();
    expect(await exports.job(other)).toMatchObject({ state: 'completed', has_file: true });
    expect(await gone('2001-03-02')).toEqual([]);
    expect((await exports.job(other)).has_file).toBe(true);
  });
});
