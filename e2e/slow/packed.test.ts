import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chown, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readCsv } from '../../packages/server/test/csv.ts';
import { newFolder } from '../../packages/server/test/folder.ts';
import { startReceiver } from '../../packages/server/test/receiver.ts';
import { openExport } from '../lib/api.ts';
import { createJob, downloadFile, untilCompleted } from '../lib/exports.ts';
import { ingestBatch } from '../lib/ingest.ts';
import { type Service, statusOf, useInstallation } from '../lib/installation.ts';
import { installPackage, type Package, pack, readManifest } from '../lib/package.ts';
import { makeLeaf } from '../lib/records.ts';
import { runRetention, verifyAll } from '../lib/retention.ts';
import { waitFor } from '../lib/wait-for.ts';
import { addEndpoint, report, untilDelivery, webhookSettings } from '../lib/webhooks.ts';

const isRoot = process.getuid?.() === 0;
const nobody = 65534;
const leaf = { tenant: 'TX', store: 'DFW' };
const records = makeLeaf(leaf, 500);

let packed: Package;
beforeAll(async () => {
  // As the image is told it: what is packed there is no checkout.
  vi.stubEnv('GIT_COMMIT', 'c0ffee0'.padEnd(40, '0'));
  packed = await installPackage();
  vi.unstubAllEnvs();
  if (packed.isLinked)
    process.stderr.write('No registry answers: the package uses what is installed here.\n');
  // npm copies 150 MB.
}, 600_000);
afterAll(() => packed.remove());

const installation = useInstallation('each', 'nothing');

test('the package holds what is needed to run, and neither sources nor tests', async () => {
  const { files } = packed;
  expect(files).toEqual(
    expect.arrayContaining([
      'package/bin/svcctl.cjs',
      'package/dist/service/app.js',
      'package/dist/svcctl/main.cjs',
      'package/migrations/0001-baseline.sql',
      'package/console/index.html',
      'package/README.md',
      'package/CHANGELOG.md',
      'package/SECURITY.md',
      'package/docs/operations.md',
      'package/docs/configuration.md',
      'package/LICENSE',
      'package/THIRD-PARTY-LICENSES.txt',
      'package/sbom.cdx.json',
      'package/npm-shrinkwrap.json',
      'package/demo/data/flights.parquet',
    ]),
  );
  const known =
    /^package\/dist\/commit$|^package\/(bin|dist\/service|dist\/svcctl|migrations|console|deploy|demo|docs)\/|\.(md|json|txt)$|\/LICENSE$/;
  expect(files.filter((name) => !known.test(name))).toEqual([]);
  expect(files.filter((name) => /\.(ts|map)$|test|\.built$/.test(name))).toEqual([]);
  // Who installs it gets the versions that the tests ran with, of what it depends on and of all that these use.
  const { dependencies } = await readManifest(packed.folder);
  const ranges = Object.values(dependencies).filter(
    (version) => !/^\d+\.\d+\.\d+[^ ]*$/.test(version),
  );
  expect(ranges).toEqual([]);
  expect(Object.keys(dependencies)).toContain('pg-protocol');
  // One of the service's libraries, one of the console's, one that another uses, and where the demo's data is from.
  const licenses = await readFile(join(packed.folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['fastify', 'react', 'find-my-way']) {
    expect(licenses).toMatch(new RegExp(`^${name} \\d.*\n\n[^-]*Copyright`, 'm'));
  }
  expect(licenses).toMatch(/^vega-datasets \d.*BSD/m);
});

test('the package is the same to the byte whenever it is packed, and its checksum and provenance lie beside it', async () => {
  const sums = [];
  for (const _time of [1, 2]) {
    const folder = await newFolder();
    const archive = await pack(folder);
    const sum = createHash('sha256')
      .update(await readFile(archive))
      .digest('hex');
    const line = `${sum}  ${basename(archive)}\n`;
    expect(await readFile(`${archive}.sha256`, 'utf8')).toBe(line);
    const statement = JSON.parse(await readFile(`${archive}.intoto.json`, 'utf8'));
    expect(statement.subject).toEqual([{ name: basename(archive), digest: { sha256: sum } }]);
    const { internalParameters } = statement.predicate.buildDefinition;
    expect(internalParameters).toEqual({
      node: process.versions.node,
      npm: expect.stringMatching(/^\d+\./),
    });
    await rm(folder, { recursive: true });
    sums.push(sum);
  }
  expect(sums[1]).toBe(sums[0]);
}, 300_000);

// The user who runs it is not the one who has installed it, and may write nothing but the data folder, as in a container
// with a read-only root.
test('an ordinary user runs the package', async () => {
  if (isRoot) await chown(installation.dataDir, nobody, nobody);
  await expectWorks([...(isRoot ? asNobody(installation.dataDir) : []), ...packed.command]);
  const made = await readdir(installation.dataDir);
  expect(made.includes('postgres-libraries')).toBe(isRoot && !packed.isLinked);
}, 300_000);

/** Words before a command. Who may not mount, as root in a container, leaves the files as writable as they are. */
function asNobody(dataDir: string): string[] {
  const become = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--'];
  const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro /';
  const readOnly = ['unshare', '--mount', '--', 'sh', '-c'];
  const mayMount = spawnSync('/usr/bin/env', [...readOnly, mount, dataDir]).status === 0;
  return [...(mayMount ? [...readOnly, `${mount} && exec "$@"`, dataDir] : []), ...become];
}

test.runIf(isRoot)('root runs the package', () => expectWorks(packed.command), 300_000);

test('the demo of the package shows real events, and webhooks that fail', async () => {
  const ask = async (...args: string[]) =>
    JSON.parse((await installation.run([...args, '--json'], {}, packed.command)).output);
  const demo = installation.spawnCommand(['demo', '--limit', '2000'], {}, packed.command);
  await waitFor('the demo', () => demo.output().includes('To remove all of it: rm -r'));
  expect(demo.output()).toContain('2,000 stored, 0 were there before, 0 rejected.');
  const leaves = await ask('records', 'ls', '--tenant', 'TX', '--month', '2001-01');
  expect(leaves).toContainEqual(expect.objectContaining({ store: 'DFW', tier: 'hot' }));
  await waitFor('a dead letter', async () => {
    const abandoned: { last_status: number }[] = await ask('dlq', 'ls', '--status', 'abandoned');
    return abandoned.some(({ last_status }) => last_status === 500);
  });
  expect(await demo.stop()).toEqual({ code: 0, signal: null });
  expect(await installation.listPostgresProcesses()).toEqual([]);
}, 300_000);

async function expectWorks(command: readonly string[]): Promise<void> {
  const home = { HOME: installation.dataDir };
  const service = await installation.start({ ...webhookSettings, ...home }, command);
  await expectConsole(service);
  const { version } = await readManifest(packed.folder);
  const built = await installation.run(['--version'], home, command);
  expect(built.output.trim()).toBe(`${version}+c0ffee0`);
  const openApi = await service.call('GET', '/openapi.json');
  expect(openApi.json.info.version).toBe(version);

  await ingestBatch(service, records);
  const hot = await exportCsv(service);
  await runRetention(service, { before: '2002-01-01' });
  const leaves = await installation.run(['records', 'ls', '--json'], home, command);
  expect(JSON.parse(leaves.output)).toMatchObject([
    { ...leaf, month: '2001-03', count: records.length, tier: 'cold' },
  ]);
  expect(await exportCsv(service)).toBe(hot);
  expect(await verifyAll(service)).toMatchObject({ ok: true });
  const job = await createJob(service, 'ndjson', { ...leaf, compression: 'zstd' });
  await untilCompleted(service, job.id);
  expect((await downloadFile(service, job.id)).readUInt32LE(0)).toBe(0xfd2fb528);

  const receiver = await startReceiver();
  await addEndpoint(service, receiver.url());
  const [delivery] = await report(service);
  await untilDelivery(service, delivery?.id ?? '', 'delivered');
  expect(receiver.requests).toMatchObject([{ id: delivery?.idempotency_key }]);
  await receiver.close();

  expect(await service.stop()).toEqual({ code: 0, signal: null });
  expect(await installation.listPostgresProcesses()).toEqual([]);
}

/** Fails unless the first page of the console is there, with all that it loads. */
async function expectConsole(service: Service): Promise<void> {
  const page = await service.probe('/');
  expect(page.status).toBe(200);
  const assets = [...page.text.matchAll(/(?:src|href)="\.?(\/[^"]+)"/g)].map(([, path]) => path);
  expect(assets.filter((path) => path?.endsWith('.js'))).not.toEqual([]);
  expect(assets.filter((path) => path?.endsWith('.css'))).not.toEqual([]);
  for (const path of assets) expect(await statusOf(`${service.url}${path}`), path).toBe(200);
}

/** Exports the leaf; fails unless the file has as many rows as the leaf counts. */
async function exportCsv(service: Service): Promise<string> {
  const download = await openExport(service, { ...leaf, month: '2001-03' });
  const csv = (await download.readAll()).toString();
  expect(readCsv(csv)).toHaveLength(records.length + 1);
  return csv;
}
