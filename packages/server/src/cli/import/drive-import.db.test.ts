import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql, { type Sql } from 'sql-template-tag';
import { expect, test } from 'vitest';
import { hold } from '../../../test/hold.ts';
import { ends, useFolder } from '../testing/run.ts';
import { useServiceCli } from '../testing/service-cli.ts';

const folder = useFolder('once');
const { service, cli, jsonOf } = useServiceCli({}, folder);

const lineOf = (tenant: string, n: number, more = '') =>
  `{"tenant":"${tenant}","store":"S","event_id":"${n}","occurred_at":"2024-01-01T00:00:00Z","n":${n}${more}}\n`;
/** Writes a file whose records are of the tenant of its name. */
async function writeRows(tenant: string, rows: number, more = ''): Promise<void> {
  const lines = Array.from({ length: rows }, (_, n) => lineOf(tenant, n, more));
  await writeFile(join(folder.path, `${tenant}.ndjson`), lines.join(''));
}
const importOf = (...tenants: string[]) =>
  `records import ${tenants.map((tenant) => `${tenant}.ndjson`).join(' ')} --json`;
const countOf = async (tenant: string) => {
  const counted = await service.db.query<{ count: number }>(
    sql`select count from leaf_tenants where tenant = ${tenant}`,
  );
  return counted[0]?.count ?? 0;
};
const jobs = (): Promise<{ id: string; state: string; error: string | null; summary: string }[]> =>
  jsonOf('jobs ls --kind import --json');
const until = (query: Sql, rows: number) =>
  expect.poll(() => service.db.query(query), { timeout: 60_000, interval: 5 }).toHaveLength(rows);

/**
 * Begins an import of thirty records of each of two tenants, of which the second is held: the first file is done then, and
 * records of the other wait to be stored.
 */
async function beginImport(name: string, signal = new AbortController().signal) {
  const [done, held] = [`${name}1`, `${name}2`];
  await writeRows(done, 30);
  await writeRows(held, 1);
  await cli(importOf(held));
  await writeRows(held, 30);
  const holding = sql`select 1 from leaf_tenants where tenant = ${held} for update`;
  const letGo = await hold(service.db, holding);
  const words = importOf(done, held);
  const running = cli(words, { signal });
  await until(
    sql`select 1 from (select * from record_imports order by requested_at desc limit 1) latest
      where files = 2 and at_file = 1`,
    1,
  );
  const [job] = await jobs();
  return { done, held, words, running, letGo, id: job?.id ?? '' };
}

/** Interrupts one that has begun. */
async function interrupt(name: string) {
  const ending = new AbortController();
  const { running, letGo, ...begun } = await beginImport(name, ending.signal);
  ending.abort();
  await ends(running, 130);
  await letGo();
  return begun;
}

test('the same command goes on with an import that was interrupted, and each row counts once', async () => {
  const { id, words, held } = await interrupt('ON');
  expect((await jobs())[0]).toMatchObject({
    ...{ id, state: 'paused' },
    error: expect.stringContaining('Its command stopped (interrupted).'),
  });
  // Of one that is killed the job may not know what was stored last: it is sent again.
  await service.db.query(sql`
    update record_imports set at_file = 0, at_row = 20, rows = 20, sent = 20, taken = 20 where id = ${id}`);
  const { stdout, stderr } = await ends(cli(words), 0, /^{/);
  expect(stderr).toContain(`note: goes on with ${id}, in which 20 rows are done`);
  expect(JSON.parse(stdout)).toMatchObject({ files: 2, rows: 60, accepted: 59, duplicates: 1 });
  expect((await jobs())[0]).toMatchObject({ id, state: 'completed', error: null });
  expect(await countOf(held)).toBe(30);
  expect(await jsonOf(words)).toMatchObject({ rows: 60, accepted: 0, duplicates: 60 });
  expect((await jobs())[0]?.id).not.toBe(id);
});

test('files that changed meanwhile are another import', async () => {
  const { id, words, done, held } = await interrupt('CHANGED');
  await writeRows(done, 30, ',"more":1');
  const { stdout, stderr } = await ends(cli(words), 7, /^{/);
  expect(stderr).not.toContain('goes on with');
  // What was stored of the file as it was is in conflict with what it is.
  expect(JSON.parse(stdout)).toMatchObject({ rows: 60, rejected_count: 30 });
  const [latest, before] = await jobs();
  expect([latest, before]).toMatchObject([{ state: 'completed' }, { id, state: 'paused' }]);
  expect(latest?.summary).toContain('30 rejected, 30 of them in conflict.');
  expect(await countOf(held)).toBe(30);
});

test('one that is cancelled amid stores nothing more, stops, and says what is stored', async () => {
  const { id, running, held, letGo } = await beginImport('CANCELLED');
  await cli(`jobs cancel ${id}`);
  await letGo();
  await ends(running, 1, [
    `${id} was cancelled: nothing more is sent`,
    '30 new records are stored, and stay.',
  ]);
  expect(await countOf(held)).toBe(1);
});

test('two imports of the same files at once share a job, and store and count every row once', async () => {
  await writeRows('SHARED', 2000);
  const words = importOf('SHARED');
  // Nothing is stored before both have begun.
  const locking = sql`lock table enrichment_records in share row exclusive mode`;
  const letGo = await hold(service.db, locking);
  const running = [cli(words), cli(words)];
  await until(
    sql`select 1 from pg_locks where relation = 'enrichment_records'::regclass and not granted`,
    2,
  );
  await letGo();
  for (const each of running) {
    const { stdout } = await ends(each, 0, /^{/);
    expect(JSON.parse(stdout)).toMatchObject({ rows: 2000, accepted: 2000, duplicates: 0 });
  }
  expect(await countOf('SHARED')).toBe(2000);
});
