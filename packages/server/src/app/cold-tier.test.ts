import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSettings } from '../config/settings.ts';
import { createLog } from '../platform/log.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { openColdTier } from './cold-tier.ts';

test('a process that ends leaves no folder of its own behind', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-cold-'));
  const closers: (() => Promise<unknown>)[] = [];
  const url = 'postgres://nobody@127.0.0.1:1/none';
  const db = openDatabase({ url, maxConnections: 1, onError: () => {} });
  closers.push(() => db.close());
  try {
    const settings = loadSettings({ SVC_DATA_DIR: dataDir });
    const cold = await openColdTier(settings, { db, log: createLog('silent') }, closers);
    await writeFile(join(cold.spoolDir, 'half.csv'), 'x');
    for (const close of closers.reverse()) await close();
    expect(await readdir(join(dataDir, 'spool'))).toEqual([]);
    expect(await readdir(join(dataDir, 'object-cache'))).toEqual([]);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
