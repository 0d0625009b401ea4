import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { askServers, filesWith, tablesWith as tablesOf } from '../../../test/table-files.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openDatabase } from '../../platform/postgres/open-database.ts';
import type { EraseReceipt } from '../contract.ts';
import { giveBackSpace } from '../give-back.ts';
import { moveTenant } from './move-tenant.ts';
import { eraseOnce } from './testing/eraser.ts';
import { at, dieAt } from './testing/points.ts';
import { addRecords, makeRecords, useTestMover } from './testing/test-mover.ts';
import { differences } from './testing/truth.ts';

const mover = useTestMover();

const day = '2001-03-10';
/** Ends behind all others of its page, where no other row takes its place. */
async function seed(
  tenant: string,
  secret: string,
  days: readonly string[] = [day],
): Promise<void> {
  const rows = makeRecords(tenant, { days, stores: ['DFW'], perDay: 300 });
  const last = makeRecords(tenant, { days, stores: ['ORD'], perDay: 1, prefix: secret });
  await addRecords(mover.db, rows);
  await addRecords(
    mover.db,
    last.map((row) => ({ ...row, enrichment: JSON.stringify({ text: secret }) })),
  );
}

const tablesWith = (text: string) => tablesOf(mover.db, text);
const whats = (receipt: { remains: { what: string }[] }) => receipt.remains.map(({ what }) => what);
const march = 'enrichment_records_2001_03';
const may = 'enrichment_records_2001_05';
const never = new AbortController().signal;

test.each([
  ['event', 'T', 'secret-of-one', { event_ids: ['secret-of-one-0'] }],
  ['subject', 'U', 'secret-person', { subject: { field: 'text', value: 'secret-person' } }],
])(
  'what was erased by %s is in no file of a table any more; the receipt says where it still is',
  async (_by, tenant, secret, whose) => {
    await seed(tenant, secret);
    expect(await tablesWith(secret)).toEqual([march, `${march}_pkey`]);
    let switchedAt = '';
    const look = at('switched after', async () => {
      const [log] = await mover.db.query<{ at: string }>(
        sql`select pg_current_wal_lsn()::text as at`,
      );
      switchedAt = log?.at ?? '';
    });
    const receipt = await eraseOnce(mover, { tenant, ...whose }, look);
    expect(receipt).toMatchObject({ state: 'removed', hot_count: 1 });
    const [checkpoint] = await mover.db.query(
      sql`select redo_lsn > ${switchedAt}::pg_lsn as is_later from pg_control_checkpoint()`,
    );
    expect(checkpoint).toEqual({ is_later: true });
    expect(await tablesWith(secret)).toEqual([]);
    const log = await askServers(mover.db, (db) => filesWith(db, [secret], 'pg_wal'));
    expect(log.flat()).not.toEqual([]);
    expect(whats(receipt)).toEqual(['ids', 'wal', 'backups']);
    expect(await differences(mover, tenant)).toEqual([]);
  },
);

/** What callers wrote of somebody: an export that has ended, a view, and a request that somebody else has confirmed. */
async function seedTexts(tenant: string, secret: string): Promise<void> {
  const where = JSON.stringify({ where: `text = "${secret}"` });
  await mover.db.query(sql`
    insert into exports (tenant, id, format, state, request, options, file_name, slice, recorded_before, requested_by,
      token_id)
    values (${tenant}, 'exp', 'csv', 'completed', ${where}::json, '{}', 'a.csv', ${where}::json, now(), 'a', 'tok')`);
  await mover.db.query(sql`
    insert into saved_views (owner_id, name, address, tenant, is_shared)
    values ('tok', ${tenant}, ${`#/records?event_id=${secret}`}, ${tenant}, false)`);
  await mover.db.query(sql`
    insert into approvals (id, acts, route, params, body, says, about, tenant, asker_id, asker_name, asker_root, request_id)
    values (${`apr_${tenant}`}, '{erase}', 'eraseRecords', '{}', ${JSON.stringify({ value: secret })}::json, 'Erases.',
      '{}', ${tenant}, 'tok', 'a', 'tok', 'req')`);
  await mover.db.query(
    sql`update approvals set body = null, state = 'confirmed' where tenant = ${tenant}`,
  );
}
const withTexts = ['approvals', 'exports', 'saved_views'];

test('what callers wrote of somebody is in no file of a table any more once they are erased, with records or without', async () => {
  await seed('texts', 'secret-texts');
  await seedTexts('texts', 'secret-texts');
  expect(await tablesWith('secret-texts')).toEqual(expect.arrayContaining(withTexts));
  const subject = { field: 'text', value: 'secret-texts' };
  const receipt = await eraseOnce(mover, { tenant: 'texts', subject });
  expect(await tablesWith('secret-texts')).toEqual([]);
  expect(whats(receipt)).toEqual(['ids', 'wal', 'backups']);

  await seedTexts('bare', 'secret-bare');
  expect(await tablesWith('secret-bare')).toEqual(withTexts);
  const bare = await eraseOnce(mover, { tenant: 'bare', event_ids: ['secret-bare'] });
  expect(await tablesWith('secret-bare')).toEqual([]);
  expect(bare).toMatchObject({ state: null, erased: { count: 0 } });
  expect(whats(bare)).toEqual(['ids', 'wal', 'backups']);
});

test('one record of a large month is in no file of a table any more, though a vacuum would leave what is on few pages', async () => {
  const secret = 'secret-of-many';
  const rows = makeRecords('many', { days: [day], stores: ['DFW'], perDay: 10_000 });
  await addRecords(mover.db, rows);
  await seed('many', secret, ['2001-03-11']);
  const receipt = await eraseOnce(mover, { tenant: 'many', event_ids: [`${secret}-0`] });
  expect(whats(receipt)).toEqual(['ids', 'wal', 'backups']);
  expect(await tablesWith(secret)).toEqual([]);
});

test('a dry run and an erasure of nothing leave nothing, and say so', async () => {
  await seed('none', 'secret-none');
  const dry = await eraseOnce(mover, { tenant: 'none', store: 'ORD', dry_run: true });
  expect(dry.remains).toEqual([]);
  const nothing = await eraseOnce(mover, { tenant: 'none', event_ids: ['nobody'] });
  expect(nothing.remains).toEqual([]);
});

test('what had moved before it was erased is in no file of a table, and the receipt tells until when objects stay', async () => {
  const secret = 'secret-cold';
  // Enough live records of others that giving space back leaves the month as it is.
  await addRecords(mover.db, makeRecords('other', { days: [day], perDay: 1000 }));
  await seed('cold', secret);
  await mover.move('cold', day);
  await giveBackSpace(mover.db, { log: mover.context().log, signal: never });
  expect(await tablesWith(secret)).toEqual([march, `${march}_pkey`]);
  const request = { tenant: 'cold', event_ids: [`${secret}-0`] };
  const receipt = await eraseOnce(mover, request, { graceSeconds: 30 });
  expect(receipt).toMatchObject({ state: 'switched', hot_count: 0, cold_count: 1 });
  expect(await tablesWith(secret)).toEqual([]);
  expect(whats(receipt)).toEqual(['objects', 'ids', 'wal', 'backups']);
  expect(receipt.remains[0]?.until).toBe(receipt.objects_removed_after);
  expect(receipt.objects_removed_after).not.toBeNull();
});

const scrubOf = async (id: string | null) => {
  const [move] = await mover.db.query(
    sql`select state, scrub_due, scrubbed from moves where id = ${id}`,
  );
  return move;
};

/** By the counters, which tell what a month is worth. */
async function makeLarge(month: string): Promise<void> {
  await mover.db.query(sql`
    insert into tenant_months (tenant, month, count, bytes, digest, first_at, last_at)
    values ('huge', ${month}, 1000, ${2 ** 28}, 0, now(), now()) on conflict do nothing`);
}

/** Vacuum takes 400 ms a page, and a statement 2 s, at most. */
function openSlowVacuum(): Database {
  const url = new URL(mover.db.url);
  const options = { statement_timeout: '2s', vacuum_cost_delay: '100ms', vacuum_cost_limit: 1 };
  const told = Object.entries(options).map(([name, value]) => `-c ${name}=${value}`);
  url.searchParams.set('options', told.join(' '));
  return openDatabase({ url: url.href, maxConnections: 4, onError: () => {} });
}

test('a month too large to be written anew is not vacuumed, and the erasure ends', async () => {
  await seed('large', 'secret-large', ['2001-05-11']);
  await makeLarge('2001-05');
  const db = openSlowVacuum();
  try {
    const receipt = await eraseOnce(mover, { tenant: 'large', store: 'ORD' }, { db });
    expect(receipt).toMatchObject({ state: 'removed', erased: { count: 1 } });
    expect(whats(receipt)).toEqual(['hot_pages', 'ids', 'wal', 'backups']);
    expect(await scrubOf(receipt.id)).toMatchObject({ scrubbed: { kept: [may] } });
  } finally {
    await db.close();
  }
});

test('a request that waits is named by whole values of its fields, and by its reason', async () => {
  await seedTexts('asked', 'secret-asked');
  const erase = async (event_id: string, body: object) => {
    await mover.db.query(
      sql`update approvals set body = ${JSON.stringify(body)}::json, state = 'waiting' where tenant = 'asked'`,
    );
    return whats(await eraseOnce(mover, { tenant: 'asked', event_ids: [event_id] }));
  };
  const subject = { field: 'a', value: 'kim' };
  expect(await erase('e-1', { event_ids: ['e-11'], subject })).not.toContain('conditions');
  expect(await erase('e-1', { event_ids: ['e-11', 'e-1'], subject })).toContain('conditions');
  expect(await erase('kim', { subject })).toContain('conditions');
  expect(await erase('kim', { event_ids: ['e-1'], reason: 'asks: kim' })).toContain('conditions');
  expect(await erase('kim', { reason: 'for the kimono' })).not.toContain('conditions');
});

test('an erasure that finds no record is answered while a snapshot may see the texts, and names no request by its members', async () => {
  await seedTexts('held', 'secret-held');
  await mover.db.query(
    sql`update approvals set state = 'waiting', body = '{"value": "a \\"b\\"", "reason": 1, "store": "held-1",
      "event_ids": ["secret-held-2"]}' where tenant = 'held'`,
  );
  let erasure: Promise<unknown> | undefined;
  const request = { tenant: 'held', event_ids: ['secret-held', 'held-1', 'value', 'reason'] };
  let release = () => {};
  const answered = new Promise<void>((resolve) => {
    release = resolve;
  });
  const receipt = await mover.db.transaction(
    async (connection) => {
      await connection.query(sql`select count(*) from leaf_tenants`);
      const told = new Promise<EraseReceipt>((resolve, reject) => {
        const onAnswer = (receipt: EraseReceipt) => {
          resolve(receipt);
          return answered;
        };
        const more = { snapshotMillis: 3_600_000, answerMillis: 0, onAnswer };
        erasure = eraseOnce(mover, request, more);
        erasure.catch(reject);
      });
      return told;
    },
    { isolation: 'repeatable read' },
  );
  release();
  await erasure;
  expect(whats(receipt)).toEqual(['hot_pages', 'ids', 'wal', 'backups']);
});

test('rows that a snapshot may see stay due, and the next run removes them', async () => {
  const secret = 'secret-of-two';
  await seed('seen', secret, [day, '2001-05-10']);
  await makeLarge('2001-05');
  const receipt = await mover.db.transaction(
    async (connection) => {
      await connection.query(sql`select count(*) from leaf_tenants`);
      const request = { tenant: 'seen', event_ids: [`${secret}-0`] };
      return eraseOnce(mover, request, { snapshotMillis: 500 });
    },
    { isolation: 'repeatable read' },
  );
  expect(receipt).toMatchObject({ state: 'switched', erased: { count: 2 } });
  expect(whats(receipt)).toEqual(['hot_pages', 'hot_pages', 'ids', 'wal', 'backups']);
  expect(receipt.remains[0]?.note).toContain('the month 2001-03, the journal of moves');
  expect(receipt.remains[1]?.note).toContain('the month 2001-05, which is too large');
  expect(await tablesWith(secret)).toContain(march);
  await moveTenant(mover.context(), {
    tenant: 'seen',
    lastDay: '1999-12-31',
    runId: null,
    signal: never,
  });
  expect(await tablesWith(secret)).toEqual([may, `${may}_pkey`]);
  expect(await scrubOf(receipt.id)).toEqual({
    state: 'removed',
    scrub_due: null,
    scrubbed: { kept: [may], hasCheckpoint: true },
  });
});

test('a process that is killed before it cleans up leaves that to the next one', async () => {
  const secret = 'secret-of-three';
  await seed('killed', secret);
  const request = { tenant: 'killed', event_ids: [`${secret}-0`] };
  await expect(eraseOnce(mover, request, dieAt('switched after'))).rejects.toThrow('killed');
  expect(await tablesWith(secret)).toContain(march);
  await mover.move('killed', '1999-12-31');
  expect(await tablesWith(secret)).toEqual([]);
});
