import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, useFolder } from './testing/run.ts';

const folder = useFolder();

test.each([
  'backup --out backups',
  'keys ls',
  'keys rotate --yes',
  'keys rotate --lost --yes',
  'records recount --yes',
  'audit reseal --yes',
  'tokens create --local --name rescue --preset admin',
  'drain',
  'migrate',
])('%s makes no database where there is none, and says where it looked', async (words) => {
  const { code, stderr } = await run(words.split(' '), {
    cwd: folder.path,
    env: { SVC_DATA_DIR: join(folder.path, 'data') },
  });
  expect(code).toBe(1);
  expect(stderr).toContain(`there is no database in ${join(folder.path, 'data')}`);
  expect(await readdir(folder.path)).toEqual([]);
});
