import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeSpoolDir } from './open-store.ts';

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'svcctl-spool-'));
});
afterAll(() => rm(parent, { recursive: true, force: true }));

test('folders of processes that are gone are cleared away, all others stay', async () => {
  const gone = spawnSync(process.execPath, ['-e', '']).pid;
  const kept = [`${process.ppid}-abc`, 'notes'];
  for (const name of [`${gone}-abc`, ...kept])
    await mkdir(join(parent, name, 'x'), { recursive: true });
  const own = await makeSpoolDir(parent);
  const another = await makeSpoolDir(parent);
  expect(basename(own)).toMatch(new RegExp(`^${process.pid}-`));
  expect((await readdir(parent)).sort()).toEqual(
    [...kept, basename(own), basename(another)].sort(),
  );
});
