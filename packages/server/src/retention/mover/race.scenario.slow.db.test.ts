import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { runs } from '../../../test/runs.ts';
import { createLog } from '../../platform/log.ts';
import type { ObjectReader } from '../../platform/objects/objects.ts';
import { createObjectReader } from '../../platform/objects/reader.ts';
import { createIngest, type Ingest } from '../../records/index.ts';
import { bodyOf } from '../../records/ingest/testing/post-records.ts';
import { eraseOnce } from './testing/eraser.ts';
import { useTestMover } from './testing/test-mover.ts';
import { differences, totals } from './testing/truth.ts';

const mover = useTestMover();
let objects: ObjectReader;
let ingest: Ingest;
beforeAll(async () => {
  const log = createLog('silent');
  const dir = join(mover.context().spoolDir, 'reader');
  objects = createObjectReader(mover.store, { dir, maxBytes: 2 ** 30, log });
  ingest = createIngest(mover.db, {
    maxRecords: 100,
    maxBatchBytes: 2 ** 22,
    maxEnrichmentBytes: 2 ** 18,
    inFlightBytes: 2 ** 26,
    writers: 3,
    clock: () => Date.parse('2026-06-01T00:00:00Z'),
    cold: { objects, duckdb: mover.duckdb },
  });
});
afterAll(async () => {
  await objects.close();
});

const tenant = 'T';
const lastDay = '2001-03-03';

function record(n: number) {
  return {
    tenant,
    store: `S${n % 2}`,
    event_id: `e${n % 10}`,
    occurred_at: `2001-03-0${1 + (n % 3)}T00:00:00.${String(n).padStart(6, '0')}Z`,
    enrichment: { n },
  };
}

async function send(from: number, count: number): Promise<number> {
  const records = Array.from({ length: count }, (_, n) => record(from + n));
  const answer = await ingest.batch(bodyOf(JSON.stringify({ records })), testActor);
  expect(answer.accepted + answer.duplicates).toBe(count);
  return answer.accepted;
}

/** Small parts meet a move more often in the same time. */
const stretch = 10;

/** Sends new records, and again some that may be cold by now, while `work` is done some times. */
async function writeWhile(bases: readonly number[], work: () => Promise<void>) {
  let isWorking = true;
  const writing = bases.map(async (base) => {
    let [accepted, rounds] = [0, 0];
    for (; isWorking; rounds += 1) {
      accepted += await send(base + rounds * stretch, stretch);
      accepted += await send(base + Math.floor(rounds / 2) * stretch, stretch);
    }
    return { accepted, sent: rounds * stretch };
  });
  try {
    for (let time = 0; time < runs(2); time += 1) await work();
  } finally {
    isWorking = false;
  }
  const sums = await Promise.all(writing);
  return {
    accepted: sums.reduce((sum, one) => sum + one.accepted, 0),
    sent: sums.reduce((sum, one) => sum + one.sent, 0),
  };
}

const move = async () => {
  await mover.move(tenant, lastDay);
};

test('records sent twice while they are moved are stored once, in whatever tier', async () => {
  const { accepted, sent } = await writeWhile([0, 200_000], move);
  expect(accepted).toBe(sent);
  await move();
  expect(await differences(mover, tenant)).toEqual([]);
  expect((await totals(mover, tenant)).tenants).toMatchObject([{ count: sent }]);
});

test('what is sent while some of it is erased is counted exactly', async () => {
  const [before] = (await totals(mover, tenant)).tenants as { count: number }[];
  let erased = 0;
  const erase = async () => {
    erased += (await eraseOnce(mover, { tenant, event_ids: ['e1', 'e7'] })).erased.count;
  };
  const { accepted } = await writeWhile([400_000, 600_000], async () => {
    await move();
    await erase();
  });
  await erase();
  expect(await differences(mover, tenant)).toEqual([]);
  const count = (before?.count ?? 0) + accepted - erased;
  expect((await totals(mover, tenant)).tenants).toMatchObject([{ count }]);
  const left = await eraseOnce(mover, { tenant, event_ids: ['e1', 'e7'], dry_run: true });
  expect(left).toMatchObject({ erased: { count: 0 }, not_found: ['e1', 'e7'] });
});
