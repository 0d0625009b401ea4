import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { useFolder } from '../../test/folder.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { auditLocally, pruneAudit } from './audit.ts';
import { verifyAuditLog } from './audit-chain.ts';
import { resealAuditLog, type Sealer, sealAuditLog } from './seal-audit.ts';

const key = (id: string) => ({ id, key: Buffer.alloc(32, id) });
const { signal } = new AbortController();

let db: TestDatabase;
const dir = useFolder();
let sealer: Sealer;
beforeEach(async () => {
  db = await createTestDatabase();
  sealer = { keys: [key('a')], dataDir: dir.path };
});
afterEach(async () => {
  await db.drop();
});

const actIn = (connection: Queryable, target: string) =>
  auditLocally(connection, 'this machine', {
    action: 'endpoint.update',
    target,
    after: { target },
  });

async function act(...targets: string[]) {
  for (const target of targets) await actIn(db, target);
}

/** Seals what was written before, and what these acts write. */
async function sealed(...targets: string[]) {
  await sealAuditLog(db, sealer);
  await act(...targets);
  await sealAuditLog(db, sealer);
}

const verify = (by = sealer) => verifyAuditLog(db, {}, { sealer: by, signal });
const forgetNote = () => rm(join(dir.path, 'audit-seal'));
const differs = {
  ok: false,
  problems: [{ kind: 'seal_differs', place: null, entry_id: null, message: expect.any(String) }],
};

/** Computes the chain anew from its entries after one was changed, as who can write to the database can. */
const rewrite = (change: string) =>
  db.pool.query(`
    ${change};
    create temporary table kept as select * from audit_log;
    delete from audit_links; delete from audit_log;
    update audit_chain set last_place = 0, last_hash = sha256('');
    insert into audit_log overriding system value select * from kept order by id;
    drop table kept`);
const spoil = `update audit_log set token_name = 'another' where target = 'b'`;

test('a seal tells its key, since when, and up to where', async () => {
  await act('before');
  expect(await verify()).toMatchObject({ ok: true, seal: null });
  await sealed('a', 'b');
  expect(await verify()).toMatchObject({ ok: true, seal: { key_id: 'a', since: 1, place: 3 } });
  await act('c');
  // What is not sealed yet is nothing wrong.
  expect(await verify()).toMatchObject({ ok: true, entries: 4, seal: { place: 3 } });
});

test('a chain that was computed anew does not verify, also when its note is gone', async () => {
  await sealed('a', 'b', 'c');
  await rewrite(spoil);
  expect(await verify()).toMatchObject(differs);
  await forgetNote();
  expect(await verify()).toMatchObject(differs);
  await expect(sealAuditLog(db, sealer)).rejects.toMatchObject({ code: 'verify_failed' });
});

test('a seal that was moved, or signed with another key, does not verify', async () => {
  await sealed('a', 'b');
  await db.query(sql`create table kept as select * from audit_seals`);
  const forged = { keys: [{ id: 'a', key: Buffer.alloc(32, 'z') }], dataDir: tmpdir() } as const;
  const [own] = await db.query(sql`select * from audit_seals`);
  expect(own).toMatchObject({ place: 2 });
  for (const change of [
    sql`update audit_seals set since = 1`,
    sql`update audit_seals set place = 1, hash = (select hash from audit_links where place = 1)`,
    sql`update audit_seals set key_id = 'b'`,
    sql`update audit_seals set mac = sha256('')`,
  ]) {
    await db.query(change);
    expect(await verify(), change.sql).toMatchObject(differs);
    await db.query(sql`delete from audit_seals`);
    await db.query(sql`insert into audit_seals select * from kept`);
  }
  expect(await verify()).toMatchObject({ ok: true });
  expect(await verify(forged)).toMatchObject(differs);
});

test('what was cut off, and a seal that was removed or put back, is found by the note', async () => {
  await sealed('a');
  await db.query(sql`create table older as select * from audit_seals`);
  await sealed('b', 'c');
  const note = await readFile(join(dir.path, 'audit-seal'), 'utf8');
  expect(note).toMatch(/^\S+ 3 [0-9a-f]{64}\n$/);
  await rewrite(`delete from audit_log where target <> 'a'; delete from audit_seals;
    insert into audit_seals select * from older`);
  expect(await verify()).toMatchObject(differs);
  await db.query(sql`delete from audit_seals`);
  expect(await verify()).toMatchObject(differs);
  await expect(sealAuditLog(db, sealer)).rejects.toMatchObject({ code: 'verify_failed' });
});

test('a note of another database is none', async () => {
  await sealed('a');
  const other = await createTestDatabase();
  await sealAuditLog(other, sealer);
  await other.drop();
  expect(await verify()).toMatchObject({ ok: true });
});

test('a log is sealed anew when somebody says so, in the log too', async () => {
  await sealed('a', 'b');
  await rewrite(spoil);
  await resealAuditLog(db, sealer, (connection) => actIn(connection, 'resealed'));
  expect(await verify()).toMatchObject({ ok: true, seal: { since: 2, place: 2 } });
  await sealAuditLog(db, sealer);
  expect(await verify()).toMatchObject({ ok: true, seal: { since: 2, place: 3 } });
});

test('another key takes over what was sealed with the one before, which may go then', async () => {
  await sealed('a');
  sealer = { keys: [key('b'), key('a')], dataDir: dir.path };
  await sealAuditLog(db, sealer);
  sealer = { keys: [key('b')], dataDir: dir.path };
  expect(await verify()).toMatchObject({ ok: true, seal: { key_id: 'b', since: 0, place: 1 } });
  const without: Sealer = { keys: [key('c')], dataDir: dir.path };
  expect(await verify(without)).toMatchObject(differs);
  await expect(sealAuditLog(db, without)).rejects.toMatchObject({ code: 'verify_failed' });
});

test('a pruning is sealed with what it does, and one past svcctl is told', async () => {
  await sealed('a', 'b', 'c');
  const prune = () => pruneAudit(db, { days: 30, copiedTo: [], sealer, signal });
  const age = (target: string) =>
    db.query(sql`update audit_log set at = at - interval '100 days' where target = ${target}`);
  await age('a');
  await prune();
  expect((await verify()).problems).toEqual([]);
  expect(await verify()).toMatchObject({ pruned_place: 1, seal: { place: 3 } });
  await sealAuditLog(db, sealer);
  // The same, with an entry that tells it, by who has no key.
  await db.pool.query(`
    with old as (select * from audit_links order by place limit 1),
    gone as (delete from audit_log where id in (select entry_id from old)),
    unlinked as (delete from audit_links where place in (select place from old)),
    noted as (update audit_chain set (pruned_place, pruned_hash) = (select place, hash from old)
      returning pruned_place || ':' || encode(pruned_hash, 'hex') as head)
    insert into audit_log (token_name, action, before, after)
    select 'retention', 'audit.prune', after, json_build_object('pruned_to', head)
    from noted, (select after from audit_log where action = 'audit.prune') last`);
  expect(await verify()).toMatchObject(differs);
  await age('c');
  await prune();
  expect(await verify()).toMatchObject({ ok: false, pruned_place: 2 });
});

test('what is not sealed yet is not pruned', async () => {
  await sealed('a');
  await act('b');
  await db.query(sql`update audit_log set at = at - interval '100 days'`);
  await pruneAudit(db, { days: 30, copiedTo: [], sealer, signal });
  expect(await db.query(sql`select target from audit_log where target is not null`)).toEqual([
    { target: 'b' },
  ]);
});

test('processes that seal at once make one seal', async () => {
  await act('a', 'b');
  await Promise.all(Array.from({ length: 8 }, () => sealAuditLog(db, sealer)));
  expect(await verify()).toMatchObject({ ok: true, seal: { since: 2, place: 2 } });
  const acts = ['c', 'd', 'e'].map((target) => act(target));
  await Promise.all([...acts, ...Array.from({ length: 8 }, () => sealAuditLog(db, sealer))]);
  await sealAuditLog(db, sealer);
  expect(await verify()).toMatchObject({ ok: true, seal: { since: 2, place: 5 } });
});

test('what is sealed while the log is verified is no fault of it', async () => {
  await sealed('one');
  // The snapshot is taken, and the seal is compared with it only in the end.
  const meanwhile = new Proxy(db, {
    get: (of, name) =>
      name !== 'transaction'
        ? Reflect.get(of, name)
        : (work: (snapshot: Queryable) => Promise<unknown>, options: object) =>
            of.transaction(async (snapshot) => {
              await snapshot.query(sql`select from audit_chain`);
              await sealed('two');
              return work(snapshot);
            }, options),
  });
  expect(await verifyAuditLog(meanwhile, {}, { sealer, signal })).toMatchObject({ ok: true });
  expect(await verify()).toMatchObject({ ok: true });
});
