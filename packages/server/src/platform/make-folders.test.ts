import { stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { madeFolder } from '../../test/folder.ts';
import { makeFolders } from './make-folders.ts';

const folder = madeFolder();

test('makes the folders that are missing, and names the first of them', async () => {
  const deep = join(folder, 'a', 'b', 'c');
  const made = await Promise.all([makeFolders(deep, 0o700), makeFolders(deep, 0o700)]);
  expect(made).toContain(join(folder, 'a'));
  expect((await stat(join(folder, 'a'))).mode & 0o777).toBe(0o700);
  expect(await makeFolders(deep)).toBeUndefined();
  await writeFile(join(folder, 'file'), '');
  await expect(makeFolders(join(folder, 'file', 'a'))).rejects.toThrow('ENOTDIR');
  await expect(makeFolders(join(folder, 'file'))).rejects.toThrow('EEXIST');
  // What is there cannot be looked at: by a link to itself here, on a disk that fails for a moment elsewhere.
  await symlink('loop', join(folder, 'loop'));
  await expect(makeFolders(join(folder, 'loop'))).rejects.toThrow('ELOOP');
});

test.runIf(process.platform === 'linux')(
  'ends where nothing can be made below a folder',
  async () => {
    await expect(makeFolders('/proc/svcctl/data')).rejects.toThrow('ENOENT');
  },
);
