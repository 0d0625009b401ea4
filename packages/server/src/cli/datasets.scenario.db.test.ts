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
        tenant,
        store: i % 2 === 0 ? 'AUS' : 'DFW',
        event_id: `e${i}`,
        occurred_at: `2001-01-0${1 + (i % 3)}T00:00:00.${String(i).padStart(6, '0')}Z`,
        kind: i % 5 === 0 ? 'a' : 'b',
        enrichment: { i, text: 'line\n"quoted", x' },
      })),
    ),
  ),
);

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

test('a token without datasets:write neither tags nor freezes', async () => {
  const { token } = await service.makeToken({ preset: 'support-readonly' });
  for (const words of [
    'records tags add --tenant TX --dataset training',
    'records versions create --tenant TX --dataset training --name q2',
  ]) {
    await ends(cli(words, { token }), 4, ['svcctl tokens create --name NAME --preset curator']);
  }
});
