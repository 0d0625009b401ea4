import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeEach, expect, test } from 'vitest';
import { expectCountersTrue } from '../lib/counters.ts';
import {
  findFreePorts,
  type Service,
  type ServiceProcess,
  useInstallation,
} from '../lib/installation.ts';
import { query } from '../lib/postgres.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation('each');
let service: Service;
/** Small parts, so that a request is stored in many of them. */
let settings: Record<string, string>;
beforeEach(async () => {
  const [port] = await findFreePorts(1);
  settings = { SVC_INGEST_MAX_RECORDS: '500', SVC_LOG_LEVEL: 'error', SVC_PORT: String(port) };
  service = await installation.start(settings);
});

const files = 3;
const rowsOfFile = 30_000;
const total = files * rowsOfFile;

/** Files of history whose columns are called otherwise; answers their folder. */
async function writeHistory(): Promise<string> {
  const folder = join(installation.dataDir, 'history');
  await mkdir(folder);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  for (let file = 0; file < files; file += 1) {
    await connection.run(
      `copy (select ${file} * ${rowsOfFile} + range as id, 'S' || range % 3 as store,
          timestamp '2024-01-01' + to_seconds(range * 60) as ts, range::decimal(20, 3) as amount,
          {'n': range, 'tags': ['a', null]} as detail
        from range(${rowsOfFile})) to '${join(folder, `${file}.parquet`)}'`,
    );
  }
  connection.closeSync();
  instance.closeSync();
  return folder;
}

const countStored = async () => {
  const counting = 'select coalesce(sum(count), 0)::int as count from leaf_tenants';
  const [row] = await query(await installation.postgresUrl(), counting);
  return Number(row?.count);
};

function startImport(folder: string) {
  const mapping = ['--map', 'event_id=id', '--map', 'occurred_at=ts', '--set', 'tenant=T'];
  return installation.spawnCommand(['records', 'import', folder, ...mapping, '--json'], {
    SVC_URL: service.url,
    SVC_TOKEN: service.token,
  });
}

test('an import that is killed anywhere, or whose service is, is repeated and ends with every row once', async () => {
  const folder = await writeHistory();
  // So all days are to be hot, and all rows take the way of ingest.
  await service.call('PUT', '/retention/policies/*', { body: { hot_days: 36_000 } });
  const untilMore = async (running: ServiceProcess) => {
    const wanted = (await countStored()) + randomInt(0, rowsOfFile / 4);
    await waitFor(
      'the import to store more rows',
      async () => running.exit() !== undefined || (await countStored()) > wanted,
    );
    expect(running.exit(), running.output()).toBeUndefined();
  };
  // An import waits for the service, and goes on by itself.
  const waiting = startImport(folder);
  for (let round = 0; round < 3; round += 1) {
    await untilMore(waiting);
    await service.kill();
    service = await installation.start(settings);
  }
  await untilMore(waiting);
  await waiting.kill();
  for (let round = 0; round < 3; round += 1) {
    const running = startImport(folder);
    await untilMore(running);
    await running.kill();
  }
  const left = total - (await countStored());
  const last = startImport(folder);
  expect(await last.waitForExit(), last.output()).toEqual({ code: 0, signal: null });
  // All of them are one job, which counts what is new once.
  expect(last.output()).toContain(`"rows":${total},"accepted":${total},"duplicates":0`);
  expect(left, 'the kills came too late to prove anything').toBeGreaterThan(0);
  expect(await countStored()).toBe(total);
  await expectCountersTrue(await installation.postgresUrl(), service);
  const again = startImport(folder);
  expect(await again.waitForExit()).toEqual({ code: 0, signal: null });
  expect(again.output()).toContain(`"accepted":0,"duplicates":${total}`);
});

/** Reads all objects again, and holds them against the catalogue and the counters of both tiers. */
async function expectVerified(): Promise<void> {
  const started = await service.call('POST', '/retention/verify', { body: {} });
  const read = () => service.call('GET', `/retention/verify/${started.json.id}`);
  await waitFor('the verification to end', async () => (await read()).json.state === 'completed');
  expect((await read()).json).toMatchObject({ problem_count: 0 });
}

test('two imports of the same files at once store and count every row once', async () => {
  const folder = await writeHistory();
  const imports = [startImport(folder), startImport(folder)];
  for (const running of imports) {
    expect(await running.waitForExit(), running.output()).toEqual({ code: 0, signal: null });
    expect(running.output()).toContain(`"rows":${total}`);
  }
  // They share a job, unless one begins when the other is done.
  const counting = 'select sum(stored + cold)::int as count from record_imports';
  const [counted] = await query(await installation.postgresUrl(), counting);
  expect(Number(counted?.count)).toBe(total);
  expect(await countStored()).toBe(total);
  await expectVerified();
});

test('an import of old days whose service is killed at any step of a move ends with every row once', async () => {
  const folder = await writeHistory();
  const url = await installation.postgresUrl();
  const movesIn = (state: string) =>
    query(url, `select 1 from moves where kind = 'import' and state = '${state}'`);
  for (const state of ['planned', 'copied', 'verified']) {
    const running = startImport(folder);
    await waitFor(
      `a move that is ${state}, or the end of the import`,
      async () => running.exit() !== undefined || (await movesIn(state)).length > 0,
    );
    await service.kill();
    await running.kill();
    service = await installation.start(settings);
  }
  const last = startImport(folder);
  expect(await last.waitForExit(), last.output()).toEqual({ code: 0, signal: null });
  expect(last.output()).toContain(`"rows":${total},"accepted":${total},"duplicates":0`);
  expect(await countStored()).toBe(total);
  const run = await service.call('POST', '/retention/run', {});
  expect(run.status).toBe(202);
  await waitFor('all moves to end', async () => {
    const open = await query(url, "select 1 from moves where state not in ('removed', 'failed')");
    const ended = await query(url, "select 1 from retention_runs where state = 'completed'");
    return open.length === 0 && ended.length > 0;
  });
  expect(await countStored()).toBe(total);
  await expectVerified();
});
