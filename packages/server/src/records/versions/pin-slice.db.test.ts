import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { planOf, testOnOneServer, untilLockWaits } from '../../../test/one-server.ts';
import { use } from '../../../test/use.ts';
import { createLog } from '../../platform/log.ts';
import { createObjectReader } from '../../platform/objects/reader.ts';
import { unpaced } from '../../platform/work/pace.ts';
import { eraseOnce } from '../../retention/mover/testing/eraser.ts';
import { startTestMover } from '../../retention/mover/testing/test-mover.ts';
import { createIngest } from '../ingest/ingest.ts';
import { bodyOf, ingestLimits } from '../ingest/testing/post-records.ts';
import type { Slice } from '../slice/slice.ts';
import { readContent } from './counting.ts';
import { cutParts, lockPins } from './pin-queries.ts';
import { type PinnedSlice, pinSlice, withPin } from './pin-slice.ts';
import { addTag } from './testing/freeze-version.ts';

const mover = use(startTestMover, (started) => started.stop());
const objects = use(
  async () => {
    const dir = join(mover.context().spoolDir, 'reader');
    return createObjectReader(mover.store, { dir, maxBytes: 2 ** 30, log: createLog('silent') });
  },
  (reader) => reader.close(),
);
const ingest = use(
  async () =>
    createIngest(mover.db, {
      ...ingestLimits,
      writers: 6,
      cold: { objects, duckdb: mover.duckdb },
    }),
  async () => {},
);

const never = new AbortController().signal;

/** Some ids come again and again, some of these with other content. */
function record(tenant: string, n: number) {
  const id = n % 170;
  return {
    tenant,
    store: `S${id % 3}`,
    event_id: `e${id}`,
    occurred_at: `2001-03-0${1 + (id % 4)}T00:00:00.${String(id % 50).padStart(6, '0')}Z`,
    enrichment: { n: n % 7 === 0 ? n : id },
  };
}

async function send(records: readonly unknown[]) {
  return ingest.batch(bodyOf(JSON.stringify({ records })), testActor);
}

/** `meanwhile` runs in the snapshot, before it is read. */
const pin = (
  slice: Slice & { tenant: string },
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<PinnedSlice> =>
  withPin(mover.db, slice.tenant, {
    async read(snapshot, recordedBefore) {
      await meanwhile();
      return pinSlice(snapshot, slice, recordedBefore);
    },
    write: async (_connection, pinned) => pinned,
  });

/** What the pinned slice has now, read from content in both tiers. */
async function read({ slice }: PinnedSlice) {
  const cold = { objects, duckdb: mover.duckdb };
  const parts = await cutParts(mover.db, { ...slice, recordedBefore: undefined });
  return (await readContent({ db: mover.db, cold, pace: unpaced }, { slice, parts }, never)).triple;
}

const waiting = (mode: string) => () =>
  mover.db.query(sql`
    select pid from pg_locks where locktype = 'advisory' and not granted and mode = ${mode}
      and database = (select oid from pg_database where datname = current_database())`);

test('a slice is pinned once the part in flight is stored, and has its records', async () => {
  const tenant = 'flight';
  await send([record(tenant, 1)]);
  let pinned: Promise<PinnedSlice> | undefined;
  let sent: Promise<unknown> | undefined;
  await mover.db.transaction(async (connection) => {
    // Keeps the part from its last step.
    await connection.query(sql`update leaf_tenants set count = count where tenant = ${tenant}`);
    sent = send([record(tenant, 2), record(tenant, 3)]);
    await untilLockWaits(mover.db);
    pinned = pin({ tenant, tenants: null });
    await expect.poll(waiting('ExclusiveLock')).toHaveLength(1);
  });
  await sent;
  const found = await pinned;
  expect(found?.triple?.count).toBe(3);
  if (found !== undefined) expect(await read(found)).toEqual(found.triple);
});

test('what is stored while a slice is read is answered at once, and not part of it', async () => {
  const tenant = 'after';
  await send([record(tenant, 1)]);
  const pinned = await pin({ tenant, tenants: null }, async () => {
    expect(await send([record(tenant, 2)])).toMatchObject({ accepted: 1 });
    await addTag(mover.db, tenant);
  });
  expect(pinned.triple?.count).toBe(1);
  expect(pinned.slice.tags.training).toEqual([]);
  expect(await read(pinned)).toEqual(pinned.triple);
});

test('what is moved while a slice is read is the same in it', async () => {
  const tenant = 'moved';
  await send([record(tenant, 1), record(tenant, 2)]);
  const pinned = await pin({ tenant, tenants: null }, async () => {
    await mover.move(tenant, '2001-03-04');
  });
  expect(pinned.triple?.count).toBe(2);
  expect(await read(pinned)).toEqual(pinned.triple);
});

test('what is erased waits until the pin is written, and finds what was', async () => {
  const tenant = 'erased';
  await send([record(tenant, 1), record(tenant, 2)]);
  const order: string[] = [];
  let erasing: Promise<unknown> | undefined;
  await pin({ tenant, tenants: null }, async () => {
    erasing = eraseOnce(mover, { tenant, event_ids: ['e1'] }).then(() => order.push('erased'));
    await expect.poll(waiting('ExclusiveLock'), { timeout: 120_000 }).toHaveLength(1);
    order.push('read');
  });
  await erasing;
  expect(order).toEqual(['read', 'erased']);
});

test('a pin that fails keeps nobody waiting', async () => {
  const tenant = 'failed';
  await expect(
    pin({ tenant, tenants: null }, async () => {
      throw new Error('cannot be read');
    }),
  ).rejects.toThrow('cannot be read');
  await send([record(tenant, 1), record(tenant, 2)]);
  expect((await pin({ tenant, tenants: null })).triple?.count).toBe(2);
  await eraseOnce(mover, { tenant, event_ids: ['e1'] });
  expect((await pin({ tenant, tenants: null })).triple?.count).toBe(1);
});

test('tenants are locked in one order, and others are not waited for', async () => {
  await mover.db.transaction(async (connection) => {
    await lockPins(connection, ['one', 'two', 'one']);
    const other = await pin({ tenant: 'three', tenants: null });
    expect(other.triple).toEqual({ count: 0, bytes: 0, digest: '0' });
  });
});

test('a part of 10,000 tenants takes no more than 256 locks, and a pin of any waits for it', async () => {
  let pinned: Promise<unknown> | undefined;
  const many = Array.from({ length: 10_000 }, (_, n) => `many-${n}`);
  const held: unknown[] = [];
  await mover.db.transaction(async (connection) => {
    for (const tenants of [many.slice(0, 1), many.slice(0, 128), many.slice(0, 500), many]) {
      await lockPins(connection, tenants);
      held.push(
        ...(await connection.query(sql`
          select count(*) as locks
          from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`)),
      );
      // The locks end with the transaction. The last one stays open.
      if (tenants !== many) await connection.client.query('rollback; begin');
    }
    pinned = pin({ tenant: 'many-77', tenants: null });
    await expect.poll(waiting('ExclusiveLock')).toHaveLength(1);
  });
  await pinned;
  expect(held).toEqual([{ locks: 1 }, { locks: 101 }, { locks: 218 }, { locks: 256 }]);
});

// A list of days that is larger than the memory of a statement is otherwise read once for each day of the tenant.
testOnOneServer('days that may have something new are joined with the others', async () => {
  const recordedFrom = '2001-01-01T00:00:00.000000Z';
  const slice = { tenant: 'flight', tenants: null, recordedFrom };
  const plan = await planOf(mover.db, (db) => cutParts(db, slice));
  expect(plan).toContain('segment_days');
  expect(plan).not.toContain('SubPlan');
});

test('a slice of a kind is pinned without a count', async () => {
  const pinned = await pin({ tenant: 'flight', kind: 'flight', tenants: null });
  expect(pinned.triple).toBeNull();
});

test('whatever is written at once, each pin has what its time tells, then and ever after', async () => {
  const tenant = 'race';
  await addTag(mover.db, tenant, { store: 'S1' });
  await addTag(mover.db, tenant, { from: '2001-03-02', to: '2001-03-03' });
  let serial = 0;
  const next = (count: number) =>
    Array.from({ length: count }, () => {
      serial += 13;
      return record(tenant, serial);
    });
  await send(next(20));
  // Records of two days are cold: what comes to them is late.
  await mover.move(tenant, '2001-03-02');
  const pins: PinnedSlice[] = [];
  const outcomes = { accepted: 0, duplicates: 0, conflicts: 0 };
  let isPinning = true;
  const write = async () => {
    while (isPinning) {
      const answer = await send(next(6));
      outcomes.accepted += answer.accepted;
      outcomes.duplicates += answer.duplicates;
      outcomes.conflicts += answer.rejected_count;
    }
  };
  const writers = Array.from({ length: 6 }, write);
  for (let n = 0; n < 14; n += 1) {
    const dataset = n % 2 === 0 ? {} : { dataset: 'training' as const };
    const pinned = await pin({ tenant, tenants: null, ...dataset });
    pins.push(pinned);
    expect(await read(pinned)).toEqual(pinned.triple);
    if (n === 7) await mover.move(tenant, '2001-03-03');
  }
  isPinning = false;
  await Promise.all(writers);
  await mover.move(tenant, '2001-03-04');
  for (const pinned of pins) expect(await read(pinned)).toEqual(pinned.triple);
  const counts = new Set(pins.map(({ triple }) => triple?.count));
  expect(counts.size).toBeGreaterThan(2);
  expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(0);
});
