import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFreePorts, statusOf, useInstallation } from './lib/installation.ts';
import { waitFor } from './lib/wait-for.ts';

// What takes longer of starts and stops: slow/lifecycle.test.ts.

const installation = useInstallation('each', 'nothing');

test('ends with 2 and names a setting that is wrong, before there is a database', async () => {
  const started = installation.spawn({ SVC_INGEST_MAX_BYTES: '32MB' });
  expect(await started.waitForExit()).toEqual({ code: 2, signal: null });
  expect(started.output()).toContain('SVC_INGEST_MAX_BYTES');
  expect(existsSync(join(installation.dataDir, 'postgres'))).toBe(false);
});

test('SIGTERM while the database is waited for ends the start', async () => {
  const [port] = await findFreePorts(1);
  const started = installation.spawn({
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    SVC_PORT: String(port),
  });
  await waitFor(
    '/healthz',
    async () => (await statusOf(`http://127.0.0.1:${port}/healthz`)) === 200,
  );
  expect(await started.stop()).toEqual({ code: 0, signal: null });
  expect(started.output()).toContain('DATABASE_URL: the database at 127.0.0.1:1 cannot be used');
});

test('the client of S3 has no advice for those who run Node 20', async () => {
  const words = ['records', 'import', 's3://bucket/x.ndjson'];
  const { code, output } = await installation.run(words, { AWS_REGION: '' });
  // It was asked for its region, so it is there.
  expect([code, output]).toEqual([2, expect.stringContaining('AWS_REGION')]);
  expect(output).not.toContain('AWS SDK for JavaScript');
});

test('the built program loads two files for its version, a few more for its help, and a command’s own files when it is named', async () => {
  const version = await loadedBy(['--version']);
  expect(version).toEqual(['bin/svcctl.cjs', 'dist/svcctl/main.cjs']);
  const help = await loadedBy(['--help']);
  expect(help).toEqual([
    'bin/svcctl.cjs',
    ...['esm', 'json-items', 'main', 'rolldown-runtime', 'run', 'view'].map(
      (name) => `dist/svcctl/${name}.cjs`,
    ),
  ]);
  expect(await loadedBy(['recods', '--json'])).toEqual(help);
  const named = await loadedBy(['records', 'ls', '--help']);
  expect(named).toContain('dist/svcctl/records.cjs');
  expect(named).not.toContain('dist/svcctl/tokens.cjs');
  expect(named.filter((path) => !path.startsWith('dist/svcctl/'))).toEqual(['bin/svcctl.cjs']);
  for (const words of [
    ['completion', 'bash'],
    ['__complete', '--', 'profile', 'use', ''],
  ]) {
    const loaded = await loadedBy(words);
    expect(loaded).toContain('dist/svcctl/completion.cjs');
    expect(loaded.filter((path) => /\/(records|tokens)\.cjs$/.test(path))).toEqual([]);
  }
});

/** The files that a command line loads, as V8 itself counts them, below the folder of the server. */
async function loadedBy(args: readonly string[]): Promise<string[]> {
  const folder = join(installation.dataDir, 'coverage', args.join(' '));
  await installation.run(args, { NODE_V8_COVERAGE: folder });
  const [report = ''] = await readdir(folder);
  const { result } = JSON.parse(await readFile(join(folder, report), 'utf8')) as {
    result: { url: string }[];
  };
  return result
    .filter(({ url }) => url.startsWith('file:'))
    .map(({ url }) => url.replace(/.*packages\/server\//, ''))
    .sort();
}
