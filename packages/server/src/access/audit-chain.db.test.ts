import { tmpdir } from 'node:os';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/database.ts';
import { useTestService } from '../../test/service.ts';
import { pruneAudit } from './audit.ts';
import { verifyAuditLog } from './audit-chain.ts';
import type { Sealer } from './seal-audit.ts';

const service = useTestService({}, undefined, { waits: { sealMillis: 3_600_000 } });

/** Who seals nothing, as there is no seal yet in the databases that it prunes. */
const sealer: Sealer = { keys: [{ id: '01', key: Buffer.alloc(32, 1) }], dataDir: tmpdir() };

type Problem = { kind: string; place: number | null; entry_id: string | null };

async function verify(body: object = {}) {
  const answer = await service.call('POST', '/audit/verify', { body });
  expect(answer.status, answer.text).toBe(200);
  return answer.json as { ok: boolean; entries: number; head: string; problems: Problem[] };
}

async function listAfter(after: number, rest = '') {
  const answer = await service.call('GET', `/audit?after=${after}${rest}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.json.data as { id: string; action: string; place: number; hash: string }[];
}

const makeTokens = (count: number) =>
  Promise.all(Array.from({ length: count }, () => service.makeToken({ preset: 'pipeline' })));

/** Does something to the log past svcctl, finds out what a verification says of it, and undoes it. */
async function tamper(spoil: string[], body: object = {}) {
  const { db } = service;
  const tables = ['audit_log', 'audit_links', 'audit_chain', 'audit_seals'];
  for (const table of tables) {
    await db.pool.query(`create table kept_${table} as select * from ${table}`);
  }
  for (const statement of spoil) await db.pool.query(statement);
  const { problems, ...verdict } = await verify(body);
  await db.pool.query('alter table audit_log disable trigger audit_log_linked');
  for (const table of tables) {
    await db.pool.query(`delete from ${table}`);
    await db.pool.query(`insert into ${table} overriding system value select * from kept_${table}`);
    await db.pool.query(`drop table kept_${table}`);
  }
  await db.pool.query('alter table audit_log enable trigger audit_log_linked');
  expect(await verify()).toMatchObject({ ok: true });
  // What the seal tells is tested beside it.
  return { ...verdict, problems: problems.filter(({ kind }) => kind !== 'seal_differs') };
}

test('a head that is none, and a place that is none, are refused', async () => {
  const wrong = await service.call('POST', '/audit/verify', { body: { head: '1:x' } });
  expect(wrong.json.errors).toMatchObject([{ path: '/head' }]);
  for (const after of ['-1', '1.5', '9007199254740993', '1e30']) {
    const answer = await service.call('GET', `/audit?after=${after}`);
    expect(answer.json.errors, after).toMatchObject([{ path: '?after' }]);
  }
  const both = await service.call('GET', '/audit?after=0&cursor=x');
  expect(both.json.errors).toMatchObject([{ path: '?cursor' }]);
});

test('acts that commit at once stand in one chain, which is read from any place on', async () => {
  const { entries, head } = await verify();
  await makeTokens(24);
  const after = await verify({ head });
  expect(after).toMatchObject({ ok: true, entries: entries + 24, problems: [] });
  const all = await listAfter(0, '&limit=500');
  expect(all.map(({ place }) => place)).toEqual(all.map((_, n) => n + 1));
  expect(after.head).toBe(`${all.length}:${all.at(-1)?.hash}`);
  expect(await listAfter(3, '&limit=2')).toEqual(all.slice(3, 5));
  const made = all.filter(({ action }) => action === 'token.create');
  expect(await listAfter(0, '&limit=500&action=token.create')).toEqual(made);
  expect(await listAfter(all.length)).toEqual([]);
});

test('an act that works on keeps none from committing, and takes its place when it commits', async () => {
  const { entries } = await verify();
  const open = await service.db.pool.connect();
  await open.query('begin');
  await open.query(`insert into audit_log (token_name, action) values ('slow', 'slow.act')`);
  await makeTokens(2);
  expect(await verify()).toMatchObject({ ok: true, entries: entries + 2 });
  await open.query('commit');
  open.release();
  const [slow] = await listAfter(entries + 2);
  expect(slow).toMatchObject({ action: 'slow.act', place: entries + 3 });
  expect(await verify()).toMatchObject({ ok: true, entries: entries + 3 });
});

test('an entry that was changed, removed or inserted is named', async () => {
  await makeTokens(3);
  const [first, second, third] = (await listAfter(0)).slice(-3);
  const at = (entry: typeof first) => ({ place: entry?.place, entry_id: entry?.id });
  const changed = [
    `update audit_log set token_name = 'nobody' where id = ${second?.id}`,
    `update audit_log set after = '{"n":1}' where id = ${second?.id}`,
    `update audit_log set at = at + interval '1 microsecond' where id = ${second?.id}`,
  ];
  for (const statement of changed) {
    const { ok, problems } = await tamper([statement]);
    expect({ ok, problems }).toMatchObject({
      ok: false,
      problems: [{ kind: 'changed', ...at(second) }],
    });
  }
  const removed = await tamper([`delete from audit_log where id = ${first?.id}`]);
  expect(removed.problems).toMatchObject([{ kind: 'removed', ...at(first) }]);
  const withLink = await tamper([
    `delete from audit_log where id = ${second?.id}`,
    `delete from audit_links where entry_id = ${second?.id}`,
  ]);
  expect(withLink.problems).toMatchObject([
    { kind: 'removed', place: second?.place, entry_id: null },
  ]);
  const newest = await tamper([
    `delete from audit_log where id = ${third?.id}`,
    `delete from audit_links where entry_id = ${third?.id}`,
  ]);
  expect(newest.problems).toMatchObject([{ kind: 'removed', place: third?.place }]);
  const inserted = await tamper([
    'alter table audit_log disable trigger audit_log_linked',
    `insert into audit_log (token_name, action) values ('nobody', 'never.done')`,
    'alter table audit_log enable trigger audit_log_linked',
  ]);
  expect(inserted.problems).toMatchObject([{ kind: 'inserted', place: null }]);
});

/** Removes the oldest entries past svcctl, as if they had been pruned. */
const removeOldest = (count: number) => `
  with old as (select * from audit_links order by place limit ${count}),
  gone as (delete from audit_log where id in (select entry_id from old)),
  unlinked as (delete from audit_links where place in (select place from old))
  update audit_chain set (pruned_place, pruned_hash) =
    (select place, hash from old order by place desc limit 1)`;

test('entries that were removed as if they had been pruned are told, with a head and without', async () => {
  const { head } = await verify();
  await makeTokens(3);
  for (const body of [{}, { head }]) {
    const { problems } = await tamper([removeOldest(2)], body);
    expect(problems).toMatchObject([{ kind: 'removed', place: 1, entry_id: null }]);
  }
});

test('entries that were removed between two prunings are told after both', async () => {
  const db = await createTestDatabase();
  const { signal } = new AbortController();
  const check = () => verifyAuditLog(db, {}, { sealer, signal });
  const age = (days: number, count: number) =>
    db.query(sql`
      insert into audit_log (at, token_name, action)
      select now() - make_interval(days => ${days}), 'old', 'old.act' from generate_series(1, ${count})`);
  await age(30, 2);
  await age(20, 2);
  await age(10, 2);
  await pruneAudit(db, { days: 25, copiedTo: [], sealer, signal });
  expect(await check()).toMatchObject({ ok: true, pruned_place: 2 });
  await db.pool.query(removeOldest(1));
  await pruneAudit(db, { days: 15, copiedTo: [], sealer, signal });
  expect(await check()).toMatchObject({
    ok: false,
    pruned_place: 4,
    problems: [{ kind: 'removed', place: 3 }],
  });
  await db.drop();
});

test('a pruning leaves the links of entries that were removed, until what comes after is as old', async () => {
  const db = await createTestDatabase();
  const { signal } = new AbortController();
  const check = () => verifyAuditLog(db, {}, { sealer, signal });
  await db.query(sql`
    insert into audit_log (at, token_name, action)
    select now() - interval '10 days', 'old', 'old.act' from generate_series(1, 3)`);
  await db.pool.query(
    'delete from audit_log where id in (select entry_id from audit_links where place <= 2)',
  );
  await pruneAudit(db, { days: 15, copiedTo: [], sealer, signal });
  const removed = { kind: 'removed', entry_id: expect.any(String) };
  expect((await check()).problems).toMatchObject([
    { ...removed, place: 1 },
    { ...removed, place: 2 },
  ]);
  await pruneAudit(db, { days: 5, copiedTo: [], sealer, signal });
  expect(await check()).toMatchObject({ ok: true, pruned_place: 3 });
  await db.drop();
});

test('a log whose hashes were all computed anew differs from a head that was kept', async () => {
  await makeTokens(1);
  const { head } = await verify();
  const anew = [
    `delete from audit_log where id = (select max(id) from audit_log)`,
    'truncate audit_links, audit_chain',
    'insert into audit_chain default values',
    'create table copied as select * from audit_log',
    'delete from audit_log',
    'insert into audit_log overriding system value select * from copied order by id',
    'drop table copied',
  ];
  expect(await tamper(anew)).toMatchObject({ ok: true });
  const { problems } = await tamper(anew, { head });
  expect(problems).toMatchObject([{ kind: 'head_differs' }]);
});

test('a log is pruned from its beginning, and each transaction of it tells what it took', async () => {
  const db = await createTestDatabase();
  await db.query(sql`
    insert into audit_log (at, token_name, action)
    select timestamptz '2001-01-01Z' + n * interval '1 day', 'old', 'old.act'
    from generate_series(1, 5) n`);
  await db.query(sql`insert into audit_log (token_name, action) values ('new', 'new.act')`);
  const { signal } = new AbortController();
  const check = () => verifyAuditLog(db, {}, { sealer, signal });
  expect(await check()).toMatchObject({ ok: true, entries: 6, pruned_place: 0 });
  await pruneAudit(db, { days: 400, copiedTo: [], sealer, signal, limit: 3 });
  // Five went, and each of the two transactions tells of it.
  expect(await check()).toMatchObject({ ok: true, entries: 3, pruned_place: 5 });
  const told = await db.query(sql`
    select token_id, token_name, target, before, after from audit_log where action = 'audit.prune' order by id`);
  const by = { token_id: null, token_name: 'retention', target: null };
  const place = (n: number) => expect.stringMatching(new RegExp(`^${n}:[0-9a-f]{64}$`));
  expect(told).toEqual([
    {
      ...by,
      before: { pruned_to: place(0) },
      after: { days: 400, count: 3, until: '2001-01-04T00:00:00.000000Z', pruned_to: place(3) },
    },
    {
      ...by,
      before: { pruned_to: place(3) },
      after: { days: 400, count: 2, until: '2001-01-06T00:00:00.000000Z', pruned_to: place(5) },
    },
  ]);
  // What the release before pruned tells no places, and is believed.
  const old = `'{"days":400,"count":1,"until":"2001-01-07T00:00:00.000000Z"}'`;
  await db.pool.query(`${removeOldest(1)};
    insert into audit_log (token_name, action, after) values ('retention', 'audit.prune', ${old})`);
  expect(await check()).toMatchObject({ ok: true, pruned_place: 6 });
  await db.drop();
});
