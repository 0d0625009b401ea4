import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { startCuttingProxy } from './testing/cutting-proxy.ts';
import { ends, useFolder } from './testing/run.ts';
import { useServiceCli } from './testing/service-cli.ts';

const folder = useFolder();
const settings = { SVC_ROLES: 'api,exports,retention' };
const { service, cli, ok, jsonOf, store } = useServiceCli(settings, folder);
const file = (name: string) => readFile(join(folder.path, name));
beforeAll(() =>
  store(
    ['TX', 'CA'].flatMap((tenant) =>
      Array.from({ length: 300 }, (_, i) => ({
        ...{ tenant, store: i % 2 === 0 ? 'AUS' : 'DFW', event_id: `e${i}` },
        occurred_at: `2001-01-0${1 + (i % 3)}T00:00:00.${String(i).padStart(6, '0')}Z`,
        kind: i % 5 === 0 ? 'a' : 'b',
        enrichment: { i, text: 'line\n"quoted", x' },
      })),
    ),
  ),
);

test('tags cover, refuse to stand twice, warn, and go', async () => {
  const add = 'records tags add --tenant CA --store AUS --month 2001-01';
  const id = (await ok(`${add} --dataset training`)).stdout.trim();
  expect(await jsonOf('records ls --tenant CA --json store,coverage,covered')).toEqual([
    { store: 'AUS', coverage: 1, covered: 150 },
    { store: 'DFW', coverage: 0, covered: 0 },
  ]);
  expect((await cli(`${add} --dataset training`)).code).toBe(6);
  const day =
    'records tags add --tenant CA --from 2001-01-01 --to 2001-01-01 --dataset fine_tuning';
  await ends(cli(day), 6, ['50 records would be in both datasets']);
  const second = (await ok(`${day} --yes`)).stdout.trim();
  expect(await jsonOf('records tags ls --tenant CA --json id,store,dataset,count')).toEqual([
    { id: second, store: null, dataset: 'fine_tuning', count: 100 },
    { id, store: 'AUS', dataset: 'training', count: 150 },
  ]);
  await ok(`records tags rm ${id} ${second}`);
  expect(await jsonOf('records tags ls --tenant CA --json')).toEqual([]);
  expect((await cli(`records tags rm ${id}`)).code).toBe(3);
});

test('streamed exports of each format have as many rows as the leaves hold', async () => {
  for (const [options, name] of [
    ['--format csv', 'x.csv'],
    ['--format csv --compression gzip', 'x.csv.gz'],
    ['--format ndjson', 'x.ndjson'],
    ['--format ndjson --compression gzip', 'x.ndjson.gz'],
    ['--format parquet', 'x.parquet'],
  ] as const) {
    const words = `analytics export --tenant TX --month 2001-01 ${options} --out ${name}`;
    expect((await ok(words)).stderr).toContain('300 rows, as many as its leaves hold');
  }
  expect(gunzipSync(await file('x.csv.gz'))).toEqual(await file('x.csv'));
  expect(gunzipSync(await file('x.ndjson.gz'))).toEqual(await file('x.ndjson'));
  expect((await file('x.parquet')).subarray(0, 4).toString()).toBe('PAR1');
});

test('a job gives the file the stream gives, and exports get takes it again', async () => {
  const words = 'analytics export --tenant TX --month 2001-01 --format ndjson';
  await ok(`${words} --out streamed`);
  const { stdout } = await ok(`${words} --async --out job --json`);
  const { export_id: id, sha256, rows } = JSON.parse(stdout);
  expect(rows).toBe(300);
  expect(await file('job')).toEqual(await file('streamed'));
  expect(
    createHash('sha256')
      .update(await file('job'))
      .digest('hex'),
  ).toBe(sha256);
  await ok(`exports get ${id} --out again --manifest manifest.json`);
  expect(await file('again')).toEqual(await file('job'));
  expect(JSON.parse(String(await file('manifest.json')))).toMatchObject({ rows: 300, sha256 });
  expect((await ok(`exports get ${id}`)).stdout).toBe(String(await file('job')));
  expect(await jsonOf(`exports show ${id} --json state,rows_done,rows_total,percent`)).toEqual({
    state: 'completed',
    rows_done: 300,
    rows_total: 300,
    percent: 100,
  });
  expect(await jsonOf('exports ls --tenant TX --state completed --json id')).toEqual([{ id }]);
  await ok(`exports cancel ${id}`);
  await ends(cli(`exports get ${id} --out gone`), 3, ['(export_file_gone)']);
  expect((await readdir(folder.path)).sort()).toEqual([
    'again',
    'job',
    'manifest.json',
    'streamed',
  ]);
});

test('a download that breaks off again and again is resumed, to the same file', async () => {
  const words = 'analytics export --tenant TX --month 2001-01 --format csv --async';
  const id = (await ok(`${words} --no-wait`)).stdout.trim();
  const whole = (await ok(`exports get ${id} --wait`)).stdout;
  const proxy = await startCuttingProxy(service.url, {
    cuts: /^GET \S+\/file /,
    // Each connection brings some of it, until all is there.
    after: () => 9000,
  });
  try {
    const env = { SVC_URL: proxy.url };
    const { stderr } = await ok(`exports get ${id} --out x.csv`, { env });
    expect(stderr).toMatch(/broke off \d+ times/);
    expect(String(await file('x.csv'))).toBe(whole);
    expect(proxy.cutCount()).toBeGreaterThan(2);
  } finally {
    await proxy.close();
  }
});

test('--no-wait leaves a job that exports get --wait brings home', async () => {
  const { stdout } = await ok(
    'analytics export --tenant TX --month 2001-01 --format parquet --async --no-wait',
  );
  await ok(`exports get ${stdout.trim()} --wait --out x.parquet`);
  expect((await file('x.parquet')).subarray(-4).toString()).toBe('PAR1');
});

test('a version is frozen with splits, exported whole and by split, shown, and removed', async () => {
  await ok('records tags add --tenant TX --month 2001-01 --dataset training');
  const create =
    'records versions create --tenant TX --dataset training --name q1 --split 80/10/10';
  const made = await ok(`${create} --json`);
  const version = JSON.parse(made.stdout);
  expect(version).toMatchObject({ state: 'ready', count: 300, name: 'q1' });
  expect(made.stderr).toContain(`✓ q1: 300 records`);
  const { train, validation, test: rest } = version.splits;
  expect(train.count + validation.count + rest.count).toBe(300);
  expect((await cli(create)).code).toBe(6);

  const words = 'analytics export --tenant TX --version q1 --format ndjson';
  expect((await ok(`${words} --out whole`)).stderr).toContain(
    '300 rows, as many as the version holds',
  );
  expect((await ok(`${words} --split train --async --out train`)).stderr).toContain(
    `${train.count} rows`,
  );
  expect(
    String(await file('train'))
      .trimEnd()
      .split('\n'),
  ).toHaveLength(train.count);
  await ok(`${words} --async --out job`);
  expect(await file('job')).toEqual(await file('whole'));

  expect(await jsonOf('records versions show q1 --tenant TX --json id')).toEqual({
    id: version.id,
  });
  expect((await ok(`records versions show ${version.id}`, { isTerminal: true })).stdout).toContain(
    'all stores · 2001-01-01 … 2001-01-31',
  );
  await ok(`records versions rm ${version.id} --yes`);
  expect(await jsonOf('records versions ls --tenant TX --json')).toEqual([]);
});

test('a token without datasets:write neither tags nor freezes', async () => {
  const { token } = await service.makeToken({ preset: 'support-readonly' });
  for (const words of [
    'records tags add --tenant TX --dataset training',
    'records versions create --tenant TX --dataset training --name q2',
  ]) {
    await ends(cli(words, { token }), 4, ['svcctl tokens create --name NAME --preset curator']);
  }
});
