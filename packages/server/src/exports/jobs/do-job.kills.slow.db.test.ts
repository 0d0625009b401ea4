import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { Database } from '../../platform/postgres/database.ts';
import type { WorkContext } from './context.ts';
import { useTestExports } from './testing/test-exports.ts';

const exports = useTestExports();
beforeAll(() => exports.ingestBothTiers('T', 70));

const files = [
  ['csv', { tenant: 'T', compression: 'gzip' }],
  ['ndjson', { tenant: 'T', compression: 'zstd' }],
  ['parquet', { tenant: 'T' }],
  ['csv', { tenant: 'T', columns: ['event_id', 'enrichment.n'] }],
] as const;

/**
 * What a process can still do that is killed at its n-th act: before that, and nothing any more from then
 * on. `isAfter`: the act itself is done, and only nobody hears of it.
 */
function killedAt(n: number, isAfter: boolean): Partial<WorkContext> & { acts(): number } {
  const { db, cold } = exports;
  let acts = 0;
  let isDead = false;
  const act = async <T>(work: () => Promise<T>): Promise<T> => {
    acts += 1;
    if (acts === n && isAfter) await work().finally(() => (isDead = true));
    if (acts >= n) isDead = true;
    if (isDead) throw new Error('killed');
    return work();
  };
  const deadOr = <T>(work: () => Promise<T>): Promise<T> =>
    isDead ? Promise.reject(new Error('killed')) : work();
  const dying: Database = {
    ...db,
    transaction: (work, options) => act(() => db.transaction(work, options)),
    query: (statement) =>
      // Failing is a single statement.
      statement.text.includes("set state = '")
        ? act(() => db.query(statement))
        : deadOr(() => db.query(statement)),
  };
  return {
    db: dying,
    store: {
      ...cold.store,
      put: (key, path, signal) => act(() => cold.store.put(key, path, signal)),
      remove: (key, signal) => deadOr(() => cold.store.remove(key, signal)),
    },
    acts: () => acts,
  };
}

test('a job that is killed at whatever act ends with the file of an undisturbed one', async () => {
  const undisturbed = new Map<number, { sha256: string; acts: number }>();
  for (const [at, [format, body]] of files.entries()) {
    const { id } = await exports.create(format, body as never);
    const counting = killedAt(Number.POSITIVE_INFINITY, false);
    await exports.work(counting);
    const job = await exports.job(id);
    expect(job).toMatchObject({ state: 'completed', error: null, rows_done: 70, attempts: 1 });
    const sha256 = createHash('sha256')
      .update(await exports.file(id))
      .digest('hex');
    expect(job.sha256?.toString('hex')).toBe(sha256);
    expect(job.parts_total).toBeGreaterThan(2);
    undisturbed.set(at, { sha256, acts: counting.acts() });
  }
  const most = Math.max(...[...undisturbed.values()].map(({ acts }) => acts));
  const acts = Array.from({ length: most }, (_, n) => n + 1);
  for (const n of acts) {
    const at = n % files.length;
    const [format, body] = files[at] ?? files[0];
    const { id } = await exports.create(format, body as never);
    const taken = await exports.take();
    const dying = killedAt(n, n % 2 === 0);
    await exports.attempt(taken, dying).catch(() => {});
    const left = await exports.job(id);
    expect(['running', 'completed'], `act ${n}`).toContain(left.state);
    if (left.state === 'running') expect(await exports.work()).toBe(id);
    const job = await exports.job(id);
    expect(job, `act ${n}: ${job.error}`).toMatchObject({ state: 'completed', rows_done: 70 });
    expect(job.sha256?.toString('hex'), `${format} killed at act ${n}`).toBe(
      undisturbed.get(at)?.sha256,
    );
  }
});
