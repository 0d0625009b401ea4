import { writeFile } from 'node:fs/promises';
import sql, { type Sql } from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { type TestDatabase, useTestDatabase } from '../../../test/database.ts';
import { testOnOneServer, untilLockWaits } from '../../../test/one-server.ts';
import type { Actor } from '../../kernel/actor.ts';
import type { Session } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { openDatabase } from '../../platform/postgres/open-database.ts';
import { createIngest, type Ingest, type IngestOptions } from './ingest.ts';
import { Part } from './part.ts';
import { fewRows, storeNew, storeOne } from './queries.ts';
import { createPartitions } from './store-part.ts';
import { expectExactCounters, levels } from './testing/exact-counters.ts';
import { useFreezer } from './testing/freeze.ts';
import { bodyOf, ingestLimits } from './testing/post-records.ts';

const db = useTestDatabase();
const freezer = useFreezer(db);
let ingest: Ingest;
let ingestOptions: IngestOptions;
/** The texts of the statements that stored something. */
let stored: string[] = [];

beforeAll(() => {
  const noted: TestDatabase = {
    ...db,
    query(statement: Sql, options) {
      if (statement.text.includes('insert into enrichment_records')) stored.push(statement.text);
      return db.query(statement, options);
    },
  };
  ingestOptions = { ...ingestLimits, cold: freezer };
  ingest = createIngest(noted, ingestOptions);
});

function batch(...records: unknown[]) {
  return send(records, testActor);
}

function send(records: unknown[], by: Actor, to = ingest) {
  return to.batch(bodyOf(JSON.stringify({ records })), by);
}

function record(tenant: string, n: number, more: Record<string, unknown> = {}) {
  return {
    tenant,
    store: `S${n % 3}`,
    event_id: `e${n}`,
    occurred_at: `2025-0${3 + (n % 3)}-0${1 + (n % 2)}T10:00:00.${String(n).padStart(6, '0')}Z`,
    kind: 'flight',
    enrichment: { n },
    ...more,
  };
}
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);

test('single records that come at the same time share statements, and each caller hears of its own', async () => {
  stored = [];
  expect(await batch(...numbers(3).map((n) => record('many', n)))).toMatchObject({ accepted: 3 });
  const answers = await Promise.all([
    batch(record('many', 0)),
    batch(record('many', 1, { kind: 'other' }), record('many', 7)),
    ...numbers(60, 100).map((n) => batch(record(`many ${n % 5}`, n))),
    batch(record('many', 200), record('many', 200), record('many', 200, { kind: 'other' })),
    batch({ tenant: 'many' }, record('many', 1)),
  ]);
  const told = answers.map(({ accepted, duplicates, rejected }) => [
    accepted,
    duplicates,
    rejected,
  ]);
  const conflict = (index: number) => ({ index, code: 'conflict', message: expect.any(String) });
  expect(told[0]).toEqual([0, 1, []]);
  expect(told[1]).toEqual([1, 0, [conflict(0)]]);
  for (const one of told.slice(2, 62)) expect(one).toEqual([1, 0, []]);
  expect(told[62]).toEqual([1, 1, [conflict(2)]]);
  expect(told[63]).toEqual([
    0,
    1,
    [{ index: 0, code: 'field_required', message: expect.any(String) }],
  ]);
  expect(stored.length).toBeLessThan(20);
  await expectExactCounters(db);
});

test('the same record of many callers at once is accepted once', async () => {
  const answers = await Promise.all(numbers(30).map(() => batch(record('same', 1))));
  const sum = (field: 'accepted' | 'duplicates') =>
    answers.reduce((total, answer) => total + answer[field], 0);
  expect([sum('accepted'), sum('duplicates')]).toEqual([1, 29]);
});

test('two processes store the first records of new months at the same time', async () => {
  const other = openDatabase({ url: db.url, maxConnections: 12, onError: () => {} });
  // Processes that know no month yet: every one of them looks whether it is there, over and over while it is made.
  const startOne = (n: number) => createIngest(n % 2 === 0 ? db : other, ingestOptions);
  let sent = 0;
  for (const month of numbers(12)) {
    const occurredAt = new Date(Date.UTC(1971, month, 2)).toISOString();
    const answers = numbers(4).map(async (side) => {
      for (const _ of numbers(3)) {
        const one = record(`new month ${side}`, sent++, { occurred_at: occurredAt });
        expect(await send([one], testActor, startOne(side))).toMatchObject({ accepted: 1 });
      }
    });
    await Promise.all(answers);
  }
  await other.close();
  await expectExactCounters(db);
});

test('a caller whose late record cannot be looked up fails alone', async () => {
  await batch(...numbers(4).map((n) => record('cold', n)));
  const path = await freezer.freeze('cold');
  await writeFile(path, 'no Parquet');
  const [first, late, ...others] = await Promise.allSettled([
    batch(record('warm', 1)),
    batch(record('cold', 0), record('warm', 50)),
    ...numbers(10, 2).map((n) => batch(record('warm', n))),
  ]);
  expect(late).toMatchObject({ status: 'rejected', reason: { code: 'segment_damaged' } });
  for (const one of [first, ...others]) {
    expect(one).toMatchObject({ status: 'fulfilled', value: { accepted: 1 } });
  }
  await db.query(sql`delete from enrichment_records where tenant = 'cold'`);
  for (const [table] of levels) await db.pool.query(`delete from ${table} where tenant = 'cold'`);
  await db.query(sql`delete from segments where tenant = 'cold'`);
  await expectExactCounters(db);
});

test('a tenant that another transaction locks keeps no other waiting', async () => {
  await batch(record('locked', 0), record('open', 0));
  const waiting: Promise<unknown>[] = [];
  await db.transaction(async (connection) => {
    await connection.query(sql`select from leaf_days where tenant = 'locked' for update`);
    let isStored = false;
    for (const n of numbers(3, 1)) {
      const own = batch(record('locked', 6 * n)).then(() => {
        isStored = true;
      });
      waiting.push(own);
      expect(await batch(record('open', 6 * n))).toMatchObject({ accepted: 1 });
    }
    // The first three begin at once. The other two wait for them and share a statement.
    const open = numbers(3, 10).map((n) => batch(record('open', 6 * n)));
    waiting.push(batch(record('locked', 60)));
    const all = await Promise.all([...open, batch(record('open', 90))]);
    expect(all.map(({ accepted }) => accepted)).toEqual([1, 1, 1, 1]);
    expect(isStored).toBe(false);
  });
  await Promise.all(waiting);
  await expectExactCounters(db);
});

test('a large part that waits for a locked tenant gives its place to others', async () => {
  const one = createIngest(db, { ...ingestOptions, writers: 1 });
  const large = (tenant: string, from: number) =>
    send(
      numbers(fewRows + 1, from).map((n) => record(tenant, n)),
      { ...testActor, tokenId: tenant },
      one,
    );
  await large('held', 0);
  let waiting: Promise<unknown> | undefined;
  await db.transaction(async (connection) => {
    await connection.query(sql`select from leaf_days where tenant = 'held' for update`);
    waiting = large('held', 10_000);
    await untilLockWaits(db);
    expect(await large('free', 0)).toMatchObject({ accepted: fewRows + 1 });
  });
  expect(await waiting).toMatchObject({ accepted: fewRows + 1 });
  await expectExactCounters(db);
});

test('a record that another process stores at the same moment is compared with what that stored', async () => {
  await batch(record('raced', 0));
  let answer: Promise<unknown> | undefined;
  await db.transaction(async (connection) => {
    await connection.query(sql`
      insert into enrichment_records (tenant, store, occurred_at, event_id, recorded_at, kind, bytes, digest, enrichment)
      select tenant, store, occurred_at, other.id, now(), kind, bytes,
        record_digest(tenant, store, occurred_at, other.id, kind, source, model, confidence, enrichment), enrichment
      from enrichment_records, (values ('x1'), ('x2')) as other(id) where tenant = 'raced'`);
    const { enrichment, occurred_at, store } = record('raced', 0);
    const own = { enrichment, occurred_at, store };
    answer = batch(
      record('raced', 5),
      record('raced', 1, { ...own, event_id: 'x1' }),
      record('raced', 2, { ...own, event_id: 'x2', kind: 'other' }),
    );
    await untilLockWaits(db);
  });
  expect(await answer).toMatchObject({
    accepted: 1,
    duplicates: 1,
    rejected: [{ index: 2, code: 'conflict' }],
  });
  await db.query(sql`delete from enrichment_records where event_id in ('x1', 'x2')`);
  await expectExactCounters(db);
});

const odd = [
  ...[
    '',
    '\ufeff',
    '"',
    "'",
    '\\',
    '\\N',
    'a\tb\nc\r',
    '😀',
    '\uffff',
    '{,}',
    'null',
    'NULL',
    '$1',
  ],
  '\u007f',
];

test('many new records are copied, with values of every sort, and counted as few are', async () => {
  stored = [];
  const many = numbers(3 * fewRows).map((n) =>
    record(`copied ${n % 4}`, n, {
      kind: odd[n % odd.length],
      source: odd[(n + 3) % odd.length],
      event_id: `${(odd[n % odd.length] ?? '').replace(/[\t\n\r\u007f]/g, '')}-${n}`,
      ...(n % 5 === 0 ? { model: null } : { confidence: n / 10_000 }),
      enrichment: { [odd[n % odd.length] ?? '']: odd[(n + 1) % odd.length], n },
    }),
  );
  expect(await batch(...many)).toMatchObject({ accepted: many.length, rejected_count: 0 });
  expect(stored).toEqual([]);
  await expectExactCounters(db);
  for (const some of [many, many.slice(0, 100)]) {
    expect(await batch(...some)).toMatchObject({ accepted: 0, duplicates: some.length });
  }
  const changed = many.map((one, n) => (n % 2 === 0 ? one : { ...one, kind: `${one.kind}x` }));
  const answer = await batch(...changed, record('copied 1', 90_000));
  expect(answer).toMatchObject({
    accepted: 1,
    duplicates: many.length / 2,
    rejected_count: many.length / 2,
  });
  expect(answer.rejected[0]).toMatchObject({ index: 1, code: 'conflict' });
  await expectExactCounters(db);
});

test('a sender that repeated records is believed again after one part without any', async () => {
  const sender = { ...testActor, tokenId: 'again' };
  const part = (from: number) =>
    send(
      numbers(fewRows + 1, from).map((n) => record('again', n)),
      sender,
    );
  // The statements here are those that compare; a copy is none of them.
  const compared = async (from: number) => {
    stored = [];
    await part(from);
    return stored.length;
  };
  await part(0);
  for (let times = 0; times < 7; times += 1) expect(await compared(0)).toBe(1);
  // The first of them was tried and failed, the others are not tried, and neither is the next.
  expect(await compared(10_000)).toBe(1);
  expect(await compared(20_000)).toBe(0);
  await expectExactCounters(db);
});

test('many records of cold days are looked up first, then copied without those that are there', async () => {
  const many = numbers(2 * fewRows).map((n) => record('late', n));
  await batch(...many);
  await freezer.freeze('late');
  const more = numbers(2 * fewRows, 2 * fewRows).map((n) => record('late', n));
  const other = { ...many[3], kind: 'other' };
  expect(await batch(...many.slice(0, 700), ...more, other)).toMatchObject({
    accepted: more.length,
    duplicates: 700,
    rejected: [{ index: 700 + more.length, code: 'conflict' }],
  });
  const [row] = await db.query(sql`
    select sum(count)::int as count, sum(cold_count)::int as cold from leaf_days where tenant = 'late'`);
  expect(row).toEqual({ count: 4 * fewRows, cold: 2 * fewRows });
});

/** Rows of one part: a record of each of these tenants, all of one day. */
function dayOf(tenants: readonly string[], n: number) {
  const part = new Part();
  const occurredAtMicros = Date.UTC(2025, 2, 1) * 1000 + n;
  const labels = { kind: null, source: null, model: null, confidence: null };
  for (const [index, tenant] of tenants.entries()) {
    const given = { tenant, store: 'S', eventId: `e${n}`, occurredAtMicros, bytes: 100 };
    part.add(index, { ...given, ...labels, enrichment: '{}' });
  }
  return { part, ordinals: part.inStoreOrder(), checked: [], lockMillis: 0 };
}

/** Runs `work` in a transaction that is undone, with counters that nobody has written to, so that their pages are new. */
async function withEmptyCounters(work: (session: Session) => Promise<void>) {
  // The month's partition is there afterwards.
  await batch(record('counted', 0));
  const session = await db.openSession();
  await session.query(sql`begin`);
  await session.query(
    sql`truncate leaf_days, leaf_months, leaf_stores, tenant_days, tenant_months, leaf_tenants, stored_hours`,
  );
  try {
    await work(session);
  } finally {
    await session.close();
  }
}

/** How many counters the transaction has changed, and how many of them without a new entry in an index. */
const countUpdates = (session: Session) =>
  session.query<{ updated: number; in_place: number }>(sql`
    select sum(pg_stat_get_xact_tuples_updated(oid))::int as updated,
      sum(pg_stat_get_xact_tuples_hot_updated(oid))::int as in_place
    from pg_class where relname ~ '^(leaf|tenant|stored)_(days|months|stores|tenants|hours)$'`);

testOnOneServer(
  'a record of a day that is counted already changes seven rows and no index of them',
  async () => {
    await withEmptyCounters(async (session) => {
      await storeNew(session, dayOf(['T'], 1));
      expect(await countUpdates(session)).toEqual([{ updated: 0, in_place: 0 }]);
      await storeNew(session, dayOf(['T'], 2));
      expect(await countUpdates(session)).toEqual([{ updated: 7, in_place: 7 }]);
      const [row] = dayOf(['T'], 3).part.rows;
      expect(row && (await storeOne(session, row, 7))).toBe(true);
      expect(await session.query(sql`show lock_timeout`)).toEqual([{ lock_timeout: '7ms' }]);
      expect(await countUpdates(session)).toEqual([{ updated: 14, in_place: 14 }]);
      // Its identity is taken now, so it is left to the statement that compares.
      expect(row && (await storeOne(session, row, 0))).toBe(false);
      expect(await countUpdates(session)).toEqual([{ updated: 14, in_place: 14 }]);
    });
  },
);

testOnOneServer(
  'a part that adds to every counter of many pages changes no index of them',
  async () => {
    const tenants = numbers(400).map((n) => `tenant-${n}`);
    await withEmptyCounters(async (session) => {
      await storeNew(session, dayOf(tenants, 1));
      await storeNew(session, dayOf(tenants, 2));
      expect(await countUpdates(session)).toEqual([{ updated: 2800, in_place: 2800 }]);
    });
  },
);

test('the partitions of five years are made in three transactions, and those that exist are left alone', async () => {
  let transactions = 0;
  const counted: TestDatabase = {
    ...db,
    transaction(work, options) {
      transactions += 1;
      return db.transaction(work, options);
    },
  };
  const months = Array.from(
    { length: 60 },
    (_, n) => `${1990 + Math.floor(n / 12)}-${String((n % 12) + 1).padStart(2, '0')}`,
  );
  await createPartitions(db).ensure(['1991-05', '1991-05']);
  await createPartitions(counted).ensure(months);
  expect(transactions).toBe(3);
  const made = await db.query<{ name: string }>(sql`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass and relname like 'enrichment_records_199%' order by 1`);
  expect(made.map(({ name }) => name.slice(-7).replace('_', '-'))).toEqual(months);
});

test('a partition that another process has made is believed only when that has told all sessions', async () => {
  await createPartitions(db).ensure(['1989-01']);
  const maker = await db.openSession();
  // PostgreSQL shows a new row of the catalogue to others before it tells them so, and frees locks after both.
  await maker.query(sql`select pg_advisory_lock(${advisoryLocks.partitions})`);
  let isBelieved = false;
  const believing = createPartitions(db)
    .ensure(['1989-01'])
    .then(() => {
      isBelieved = true;
    });
  await Promise.race([untilLockWaits(db), believing]);
  expect(isBelieved).toBe(false);
  await maker.close();
  await believing;
});

test('a partition that is not found is looked for anew, by one record, by few and by many', async () => {
  const at = { occurred_at: '1984-06-01T00:00:00Z' };
  for (const [from, count] of [1, 1, 3, 2 * fewRows].entries()) {
    const some = numbers(count, 10_000 * from).map((n) => record('dropped', n, at));
    expect(await batch(...some)).toMatchObject({ accepted: count });
    await db.query(sql`drop table enrichment_records_1984_06`);
  }
});
