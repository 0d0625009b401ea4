import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useFolder } from '../../test/folder.ts';
import { findRestore, markRestore, refuseRestore } from './restore-mark.ts';

const dir = useFolder();
const of = { id: 'bkp_1', place: '/mnt/backups' };
const change = async (more: object) => {
  const path = join(dir.path, 'restoring');
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), ...more }));
};

test('a folder amid a restore says so, by which process, and what to do once that is gone', async () => {
  expect(await findRestore({ dataDir: dir.path })).toBeNull();
  await refuseRestore({ dataDir: dir.path });
  const mark = await markRestore({ dataDir: dir.path }, of);
  const told = await findRestore({ dataDir: dir.path });
  expect(told?.text).toContain(
    `half restored: the restore of bkp_1 out of /mnt/backups goes on as process ${process.pid} since`,
  );
  expect(told?.remedy).toMatch(/^Wait until it has ended/);
  await expect(refuseRestore({ dataDir: dir.path })).rejects.toMatchObject({
    code: 'database_unusable',
    detail: expect.stringContaining(`The data folder ${dir.path} is half restored`),
  });
  // One that was killed could not say so.
  await change({ pid: 2 ** 22 + 1 });
  expect((await findRestore({ dataDir: dir.path }))?.text).toMatch(/was broken off$/);
  expect((await findRestore({ dataDir: dir.path }))?.remedy).toMatch(
    /^Run the same svcctl restore again/,
  );
  // What runs on another machine cannot be seen from here.
  await change({ host: 'elsewhere' });
  expect((await findRestore({ dataDir: dir.path }))?.text).toContain('of elsewhere since');
  await mark.remove();
  expect(await findRestore({ dataDir: dir.path })).not.toBeNull();
});

test('a folder whose service has another database than the one restored into is not amid a restore', async () => {
  const own = { dataDir: dir.path, databaseUrl: 'postgresql://u:p@db:5432/own' };
  const mark = await markRestore({ ...own, databaseUrl: 'postgresql://u:p@db:5432/scratch' }, of);
  await refuseRestore(own);
  await refuseRestore({ dataDir: dir.path });
  await mark.remove();
});

test('a restore that is broken off leaves its mark, and one that has ended leaves none', async () => {
  const broken = await markRestore({ dataDir: dir.path }, of);
  await broken.breakOff();
  expect((await findRestore({ dataDir: dir.path }))?.text).toMatch(/was broken off$/);
  const next = await markRestore({ dataDir: dir.path }, of);
  await broken.remove();
  expect((await findRestore({ dataDir: dir.path }))?.text).toContain('goes on');
  await next.remove();
  expect(await readdir(dir.path)).toEqual([]);
});
