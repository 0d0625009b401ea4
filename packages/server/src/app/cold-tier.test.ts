import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { madeFolder } from '../../test/folder.ts';
import { loadSettings } from '../config/settings.ts';
import { createLog } from '../platform/log.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { type Closers, closeAll } from '../platform/work/stop.ts';
import { openColdTier } from './cold-tier.ts';

const dataDir = madeFolder();

test('a process that ends leaves no folder of its own behind', async () => {
  const closers: Closers = [];
  const log = createLog('silent');
  const url = 'postgres://nobody@127.0.0.1:1/none';
  const db = openDatabase({ url, maxConnections: 1, onError: () => {} });
  closers.push(() => db.close());
  const settings = loadSettings({ SVC_DATA_DIR: dataDir });
  const cold = await openColdTier(settings, { db, log }, closers);
  await writeFile(join(cold.spoolDir, 'half.csv'), 'x');
  await closeAll(closers, log);
  expect(await readdir(join(dataDir, 'spool'))).toEqual([]);
  expect(await readdir(join(dataDir, 'object-cache'))).toEqual([]);
});
