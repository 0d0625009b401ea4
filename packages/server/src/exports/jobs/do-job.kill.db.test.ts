import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { holdPace } from '../../../test/held-pace.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { freeze } from '../../records/read/testing/freeze.ts';
import type { WorkContext } from './context.ts';
import { listObjects } from './queries.ts';
import { startTestExports, type TestExports } from './testing/test-exports.ts';

let exports: TestExports;
beforeAll(async () => {
  exports = await startTestExports();
  await exports.ingest('T', 70);
  // One store lies hot, one cold.
  await freeze(exports.db, exports.cold, { tenant: 'T', id: 'seg_1', filter: `store = 'A'` });
});
afterAll(() => exports.stop());

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
function killedAt(
  n: number,
  isAfter: boolean,
): Partial<WorkContext> & { acts(): number; kill(): void } {
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
    kill() {
      isDead = true;
    },
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
  for (let n = 1; n <= most; n++) {
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
}, 120_000);

test('a job that is killed while it gives way to clients goes on with the parts that it has', async () => {
  const undisturbed = await exports.create('csv', { tenant: 'T' });
  await exports.work();
  const { sha256 } = await exports.job(undisturbed.id);
  const { id } = await exports.create('csv', { tenant: 'T' });
  const taken = await exports.take();
  const partsDone = async () => await listObjects(exports.db, taken.job);
  const held = holdPace();
  const rest = held.pace.begin();
  const pace = {
    // Clients come when the first part is done.
    begin: () => async (signal: AbortSignal) => {
      if ((await partsDone()).length > 0) await rest(signal);
    },
  };
  const dying = killedAt(Number.POSITIVE_INFINITY, false);
  const working = exports.attempt(taken, { ...dying, pace });
  await held.resting;
  const kept = await partsDone();
  dying.kill();
  held.letGo();
  await working.catch(() => {});
  expect(await exports.job(id)).toMatchObject({ state: 'running', attempts: 1 });
  expect(await exports.work()).toBe(id);
  const job = await exports.job(id);
  expect(job).toMatchObject({ state: 'completed', attempts: 2, rows_done: 70, sha256 });
  expect(await partsDone()).toEqual(expect.arrayContaining(kept));
});
