import { readdir, readFile, rm } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { createTestDatabase, useTestDatabase, writeOldJournal } from '../../../test/database.ts';
import { baseline, replaced } from '../../platform/postgres/baseline.ts';
import { newestMigration } from '../../platform/postgres/migrate.ts';
import { newFolder, run } from '../testing/run.ts';

const db = useTestDatabase();

/** Runs `svcctl version --check-schema` on the database. */
async function check({ url } = db): Promise<{ code: number; database: Record<string, unknown> }> {
  const env = { DATABASE_URL: url };
  const { code, stdout } = await run(['version', '--check-schema', '--json'], { env });
  return { code, database: JSON.parse(stdout).database };
}

const future = (needs: string | null) =>
  db.query(sql`
    insert into schema_migrations (name, checksum, needs) values ('9999-future.sql', 'x', ${needs})
    on conflict (name) do update set needs = excluded.needs`);

test('version prints the release, Node, the schema that the release makes, and the folder of its documents', async () => {
  const { code, stdout } = await run(['version']);
  const [schema] = await db.query<{ name: string }>(
    sql`select max(name) as name from schema_migrations`,
  );
  expect(code).toBe(0);
  expect(stdout).toMatch(/^svcctl \d+\.\d+\.\d+\nnode v\d+/);
  expect(stdout).toContain(`\nschema ${schema?.name}\n`);
  const json = await run(['version', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ schema: schema?.name });
  const { docs } = JSON.parse(json.stdout);
  expect(stdout).toContain(`\ndocs ${docs}\n`);
  expect(await readFile(`${docs}/operations.md`, 'utf8')).toContain('# Operations');
});

test('a database as this release needs it ends with 0', async () => {
  expect(await check()).toMatchObject({ code: 0, database: { missing: [], newer: [] } });
});

test('one of a newer release ends with 0 if this one works beside it, else with 6', async () => {
  const newer = ['9999-future.sql'];
  await future(baseline);
  expect(await check()).toMatchObject({ code: 0, database: { newer, problem: null } });
  await future(null);
  const problem = expect.stringContaining('9999-future.sql');
  expect(await check()).toMatchObject({ code: 6, database: { newer, problem } });
  await db.query(sql`delete from schema_migrations where name = '9999-future.sql'`);
});

test('an older one ends with 7, says what a start would apply, and stays as it is', async () => {
  const older = await createTestDatabase();
  await older.query(sql`delete from schema_migrations`);
  const { code, database } = await check(older);
  expect({ code, problem: database.problem }).toEqual({ code: 7, problem: null });
  expect(database.missing).toContain(baseline);
  expect(await older.query(sql`select from schema_migrations`)).toEqual([]);
  await older.drop();
});

test('one from before the baseline ends with 0 if the last build made it, else with 6', async () => {
  const older = await createTestDatabase();
  await writeOldJournal(older);
  const asItIs = { database: await newestMigration(), missing: [], newer: [], problem: null };
  expect(await check(older)).toMatchObject({ code: 0, database: asItIs });
  await writeOldJournal(older, new Map([...replaced].slice(0, 9)));
  const problem = expect.stringContaining('0010-waiting-for-endpoints.sql');
  expect(await check(older)).toMatchObject({ code: 6, database: { problem } });
  await older.drop();
});

test('an applied migration whose file has changed ends with 6', async () => {
  await db.query(sql`update schema_migrations set checksum = 'x' where name = ${baseline}`);
  const problem = expect.stringContaining(baseline);
  expect(await check()).toMatchObject({ code: 6, database: { problem } });
});

test('where there is no database yet, none is made', async () => {
  const dataDir = await newFolder();
  const env = { SVC_DATA_DIR: dataDir };
  const { code, stdout } = await run(['version', '--check-schema'], { env });
  expect(code).toBe(7);
  expect(stdout).toContain('database none yet: a start would apply ');
  expect(await readdir(dataDir)).toEqual([]);
  await rm(dataDir, { recursive: true });
});
