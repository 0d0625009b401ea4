import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { moveTenant } from '../mover/move-tenant.ts';
import {
  addRecords,
  makeRecords,
  startTestMover,
  type TestMover,
} from '../mover/testing/test-mover.ts';
import { differences } from '../mover/testing/truth.ts';
import { eraseOnce } from './testing/eraser.ts';

let mover: TestMover;
beforeAll(async () => {
  mover = await startTestMover();
});
afterAll(() => mover.stop());

const day = '2001-03-10';
/** Ends behind all others of its page, where no other row takes its place. */
async function seed(tenant: string, secret: string): Promise<void> {
  const rows = makeRecords(tenant, { days: [day], stores: ['DFW'], perDay: 300 });
  const last = makeRecords(tenant, { days: [day], stores: ['ORD'], perDay: 1, prefix: secret });
  await addRecords(mover.db, rows);
  await addRecords(
    mover.db,
    last.map((row) => ({ ...row, enrichment: JSON.stringify({ text: secret }) })),
  );
}

/** The files of tables and of the log that hold a text. */
async function filesWith(text: string): Promise<{ tables: string[]; hasLog: boolean }> {
  const [place] = await mover.db.query<{ dir: string; base: string }>(sql`
    select current_setting('data_directory') as dir, 'base/' || oid as base from pg_database
    where datname = current_database()`);
  if (place === undefined) throw new Error('the server tells no folder');
  await mover.db.query(sql`checkpoint`);
  const holding = async (folder: string) => {
    const found: string[] = [];
    for (const name of await readdir(join(place.dir, folder))) {
      const bytes = await readFile(join(place.dir, folder, name)).catch(() => Buffer.alloc(0));
      if (bytes.includes(text)) found.push(name);
    }
    return found;
  };
  const files = await holding(place.base);
  const tables = await mover.db.query<{ name: string }>(sql`
    select relname as name from pg_class where pg_relation_filenode(oid)::text = any(${files})
      and relnamespace <> 'pg_catalog'::regnamespace order by relname`);
  return { tables: tables.map(({ name }) => name), hasLog: (await holding('pg_wal')).length > 0 };
}

const whats = (receipt: { remains: { what: string }[] }) => receipt.remains.map(({ what }) => what);
const march = 'enrichment_records_2001_03';

test('what was erased is in no file of a table any more; the receipt says where it still is', async () => {
  const secret = 'secret-of-one';
  await seed('T', secret);
  expect((await filesWith(secret)).tables).toEqual([march, `${march}_pkey`]);
  const receipt = await eraseOnce(mover, { tenant: 'T', event_ids: [`${secret}-0`] });
  expect(receipt).toMatchObject({ state: 'removed', hot_count: 1 });
  expect(await filesWith(secret)).toEqual({ tables: [], hasLog: true });
  expect(whats(receipt)).toEqual(['ids', 'wal', 'backups']);
  expect(await differences(mover, 'T')).toEqual([]);
});

test('a dry run and an erasure of nothing leave nothing, and say so', async () => {
  await seed('none', 'secret-none');
  const dry = await eraseOnce(mover, { tenant: 'none', store: 'ORD', dry_run: true });
  expect(dry.remains).toEqual([]);
  const nothing = await eraseOnce(mover, { tenant: 'none', event_ids: ['nobody'] });
  expect(nothing.remains).toEqual([]);
});

test('the receipt tells until when the replaced objects stay', async () => {
  await seed('cold', 'secret-cold');
  await mover.move('cold', day);
  const receipt = await eraseOnce(mover, { tenant: 'cold', store: 'ORD' }, { graceSeconds: 30 });
  expect(whats(receipt)).toEqual(['objects', 'wal', 'backups']);
  expect(receipt.remains[0]?.until).toBe(receipt.objects_removed_after);
  expect(receipt.objects_removed_after).not.toBeNull();
});

test('rows that a snapshot may see stay due, and the next run removes them', async () => {
  const secret = 'secret-of-two';
  await seed('seen', secret);
  const receipt = await mover.db.transaction(
    async (connection) => {
      await connection.query(sql`select count(*) from leaf_tenants`);
      return eraseOnce(mover, { tenant: 'seen', event_ids: [`${secret}-0`] });
    },
    { isolation: 'repeatable read' },
  );
  expect(receipt).toMatchObject({ state: 'switched', erased: { count: 1 } });
  expect(whats(receipt)).toEqual(['hot_pages', 'ids', 'wal', 'backups']);
  expect(receipt.remains[0]?.note).toContain('the month 2001-03, the journal of moves');
  expect((await filesWith(secret)).tables).toContain(march);
  const signal = new AbortController().signal;
  await moveTenant(mover.context(), { tenant: 'seen', lastDay: '1999-12-31', runId: null, signal });
  expect((await filesWith(secret)).tables).toEqual([]);
  const [move] = await mover.db.query(
    sql`select state, scrub_due from moves where id = ${receipt.id}`,
  );
  expect(move).toEqual({ state: 'removed', scrub_due: null });
});

test('a process that is killed before it cleans up leaves that to the next one', async () => {
  const secret = 'secret-of-three';
  await seed('killed', secret);
  const onArrow = async (to: string, when: string) => {
    if (to === 'switched' && when === 'after') throw new Error('killed');
  };
  const request = { tenant: 'killed', event_ids: [`${secret}-0`] };
  await expect(eraseOnce(mover, request, { onArrow })).rejects.toThrow('killed');
  expect((await filesWith(secret)).tables).toContain(march);
  await mover.move('killed', '1999-12-31');
  expect((await filesWith(secret)).tables).toEqual([]);
});
