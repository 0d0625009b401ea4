import { chown, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { limitTo, openContainer } from '../lib/container.ts';
import { ingestBatch } from '../lib/ingest.ts';
import { ownCommand, type Service, useInstallation } from '../lib/installation.ts';
import { readPostmasterPid } from '../lib/postgres.ts';
import { makeLeaf } from '../lib/records.ts';

const isRoot = process.getuid?.() === 0;
const container = await openContainer();
/** As few capabilities as will do. Containers have them and more, among them none to look into processes. */
const usual = ['chown', 'dac_override', 'setgid', 'setpcap', 'setuid'];
const records = makeLeaf({ tenant: 'TX', store: 'DFW' }, 10);

const installation = useInstallation('each', 'nothing');
afterAll(() => container?.close());

// Whoever may not mount runs this as who they are: an ordinary user, or root in a container.
test('PostgreSQL in a folder closed to others starts, starts again, and is adopted after kill -9', async () => {
  const command = container?.command(usual);
  const uid = isRoot ? 65534 : process.getuid?.();

  const first = await installation.start({}, command);
  await ingestBatch(first, records);
  expect((await stat(installation.dataDir)).mode & 0o777).toBe(0o700);
  expect(await ownersOfCluster()).toEqual([uid]);
  expect(await describePostgres()).toMatchObject({ uid });
  // The right to search closed folders and no other, whatever root itself has.
  if (container !== undefined) expect((await describePostgres()).capabilities).toBe(0b10n);
  expect(await first.stop()).toEqual({ code: 0, signal: null });
  expect(await installation.listPostgresProcesses()).toEqual([]);

  const second = await installation.start({}, command);
  await expectRecords(second);
  const { pid } = await describePostgres();
  await second.kill();
  const third = await installation.start({}, command);
  await expectRecords(third);
  expect((await describePostgres()).pid).toBe(pid);
  expect(await third.stop()).toEqual({ code: 0, signal: null });
  expect(await installation.listPostgresProcesses()).toEqual([]);
});

if (container !== undefined) {
  describe('root', () => {
    test('takes a cluster that a namespace made into a container, and it stays as it is outside', async () => {
      const outside = await installation.start();
      await ingestBatch(outside, records);
      expect(await ownersOfCluster()).toEqual([0]);
      expect(await outside.stop()).toEqual({ code: 0, signal: null });

      const inside = await installation.start({}, container.command(usual));
      await expectRecords(inside);
      expect(await ownersOfCluster()).toEqual([65534]);
      expect(await inside.stop()).toEqual({ code: 0, signal: null });

      const again = await installation.start();
      await expectRecords(again);
      expect(await ownersOfCluster()).toEqual([65534]);
      expect(await describePostgres()).toMatchObject({ uid: 65534 });
      expect(await again.stop()).toEqual({ code: 0, signal: null });
    });

    test('takes a cluster of another uid into a namespace, also when a kill has left it half given', async () => {
      const inside = await installation.start({}, container.command(usual));
      await ingestBatch(inside, records);
      expect(await inside.stop()).toEqual({ code: 0, signal: null });

      const unable = [...limitTo(['chown', 'dac_override', 'setfcap']), ...ownCommand()];
      const outside = await installation.start({}, unable);
      await expectRecords(outside);
      expect(await ownersOfCluster()).toEqual([0]);
      expect(await outside.stop()).toEqual({ code: 0, signal: null });

      // What a kill leaves of the change back: some files given, the folder itself last.
      await chown(join(installation.dataDir, 'postgres', 'global'), 65534, 65534);
      await chown(join(installation.dataDir, 'postgres', 'PG_VERSION'), 65534, 65534);
      await writeFile(join(installation.dataDir, 'postgres.changing-owner'), '');
      const healed = await installation.start();
      await expectRecords(healed);
      expect(await ownersOfCluster()).toEqual([0]);
      expect(await readdir(installation.dataDir)).not.toContain('postgres.changing-owner');
    });

    test('runs PostgreSQL where there is no /proc, and adopts it after kill -9', async () => {
      const command = container.command(usual, { hasProc: false });
      const first = await installation.start({}, command);
      await ingestBatch(first, records);
      const { pid } = await describePostgres();
      await first.kill();
      const second = await installation.start({}, command);
      await expectRecords(second);
      expect((await describePostgres()).pid).toBe(pid);
      expect(await second.stop()).toEqual({ code: 0, signal: null });
      expect(await installation.listPostgresProcesses()).toEqual([]);
    });

    test('is told what to do where it can become nobody', async () => {
      const started = installation.spawn({}, container.command([]));
      expect(await started.waitForExit()).toEqual({ code: 1, signal: null });
      expect(started.output()).toMatch(/^error: .*\(database_unusable\)$/m);
      expect(started.output()).toMatch(/as an ordinary user .* DATABASE_URL/);
      expect(await readdir(installation.dataDir)).not.toContain('postgres');
    });
  });
}

async function expectRecords(service: Service): Promise<void> {
  const answer = await service.call('GET', '/enrichment/datasets?level=tenant');
  expect(answer.json.data).toMatchObject([{ tenant: 'TX', count: records.length }]);
}

/** Every uid that owns something in the cluster. */
async function ownersOfCluster(): Promise<number[]> {
  const dir = join(installation.dataDir, 'postgres');
  const names = ['.', ...(await readdir(dir, { recursive: true }))];
  const found = names.map(async (name) => (await stat(join(dir, name)).catch(() => null))?.uid);
  return [...new Set(await Promise.all(found))].filter((uid) => uid !== undefined);
}

async function describePostgres() {
  const pid = await readPostmasterPid(installation.dataDir);
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
  const capabilities = BigInt(`0x${/^CapEff:\t(\w+)/m.exec(status)?.[1]}`);
  return { pid, uid, capabilities };
}
