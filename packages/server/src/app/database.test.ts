import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { madeFolder } from '../../test/folder.ts';
import { loadSettings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import type { Log } from '../platform/log.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { explainFullDisk, makeDataDir, untilReachable } from './database.ts';

/** Waits for a database, with a clock that only the pauses move. */
async function wait(env: Record<string, string>, work: () => Promise<unknown>) {
  const pauses: number[] = [];
  const said: string[] = [];
  let passed = 0;
  const ended = await untilReachable(
    loadSettings(env),
    {
      log: { warn: (_fields: object, text: string) => said.push(text) } as unknown as Log,
      signal: new AbortController().signal,
      now: () => passed,
      async sleep(millis) {
        pauses.push(millis / 1000);
        passed += millis;
      },
    },
    work,
  ).catch((error: unknown) => error);
  return { ended, pauses, said };
}

test('an unreachable database is waited for with growing pauses, and for ten minutes in all', async () => {
  const DATABASE_URL = 'postgres://nobody:secret@127.0.0.1:1/none';
  const db = openDatabase({ url: DATABASE_URL, maxConnections: 1, onError: () => {} });
  const { ended, pauses, said } = await wait({ DATABASE_URL }, () =>
    db.pool.connect().catch(refuse),
  );
  expect(pauses.slice(0, 7)).toEqual([1, 2, 4, 8, 16, 30, 30]);
  const seconds = pauses.reduce((sum, pause) => sum + pause, 0);
  expect(seconds).toBeGreaterThan(9 * 60);
  expect(seconds).toBeLessThanOrEqual(10 * 60);
  const words =
    'DATABASE_URL: the database at 127.0.0.1:1 cannot be used: nothing listens there (connect ECONNREFUSED 127.0.0.1:1)';
  expect(said[0]).toContain(`waiting for the database: ${words}`);
  expect(ended).toMatchObject({ code: 'database_unavailable', exitCode: 5 });
  expect((ended as AppError).detail).toContain(words);
  expect(said.join()).not.toContain('secret');
  await db.close();
});

const refuse = (cause: unknown) => {
  throw new AppError('database_unavailable', { cause });
};

test.each([
  ['postgres:///svcctl?host=/run/nowhere', '/run/nowhere/.s.PGSQL.5432'],
  ['postgresql://db.example.org/svcctl', 'db.example.org:5432'],
])('%s is at %s', async (DATABASE_URL, place) => {
  const { ended } = await wait({ DATABASE_URL }, async () => refuse(new Error('gone')));
  expect((ended as AppError).detail).toContain(`the database at ${place} cannot be used: gone.`);
});

test('a name of several addresses is told by the first of them', async () => {
  const cause = new AggregateError([new Error('connect ECONNREFUSED ::1:5432')]);
  const { ended } = await wait({ DATABASE_URL: 'postgres://db/x' }, async () => refuse(cause));
  expect((ended as AppError).detail).toContain('connect ECONNREFUSED ::1:5432');
});

test('what will not pass is not waited for', async () => {
  const fault = new AppError('database_unusable');
  const { ended, pauses } = await wait({}, async () => {
    throw fault;
  });
  expect(ended).toBe(fault);
  expect(pauses).toEqual([]);
});

const folder = madeFolder();

test('a data folder is made for its user alone, and one that cannot be made is told by its setting', async () => {
  const dataDir = join(folder, 'new', 'data');
  await makeDataDir({ dataDir });
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  await makeDataDir({ dataDir });
  await writeFile(join(folder, 'file'), '');
  await expect(makeDataDir({ dataDir: join(folder, 'file', 'data') })).rejects.toMatchObject({
    code: 'settings_invalid',
    detail: expect.stringMatching(/^SVC_DATA_DIR: .*ENOTDIR.* give it to the user/),
  });
});

test('a start blames the disk that is full: its own, or that of the server of DATABASE_URL', async () => {
  const text = 'could not extend file: No space left on device';
  const cause = Object.assign(new pg.DatabaseError(text, text.length, 'error'), { code: '53100' });
  const refused = new AppError('database_unavailable', { detail: text, cause });
  const ofServer = { dataDir: '/', databaseUrl: 'postgres://nobody:secret@db.example.org/svcctl' };
  const ofOwn = { dataDir: '/', databaseUrl: undefined };
  const explain = async (...of: Parameters<typeof explainFullDisk>) =>
    String(((await explainFullDisk(...of)) as AppError).detail);
  const theirs = await explain(refused, ofServer);
  expect(theirs).toContain('the disk of the database at db.example.org:5432 is full');
  expect(theirs).not.toMatch(/SVC_DATA_DIR|secret/);
  expect(await explain(refused, ofOwn)).toContain('The disk of SVC_DATA_DIR, /, is full (');
  const ours = new Error('ENOSPC: no space left on device, write');
  expect(await explain(ours, ofServer)).toContain('The disk of SVC_DATA_DIR');
  expect(await explainFullDisk(new Error('other'), ofServer)).toEqual(new Error('other'));
});
