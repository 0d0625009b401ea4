import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { madeFolder } from '../../../test/folder.ts';
import { createFileStore } from './file-system.ts';
import { inSpoolFolder, putBytes } from './spool.ts';

const root = madeFolder();
const signal = new AbortController().signal;

it('a folder goes with its work, also when that fails, and leaves the others', async () => {
  const spoolDir = join(root, 'not', 'there');
  const left = await inSpoolFolder(spoolDir, async (dir) => {
    await writeFile(join(dir, 'a'), 'a');
    const failing = inSpoolFolder(spoolDir, async (own) => {
      await writeFile(join(own, 'b'), 'b');
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    expect(await readdir(dir)).toEqual(['a']);
    return readdir(spoolDir);
  });
  expect(left).toHaveLength(1);
  expect(await readdir(spoolDir)).toEqual([]);
});

it('bytes become an object that stays when the spool goes', async () => {
  const [spoolDir, store] = [join(root, 'spool'), createFileStore(join(root, 'store'))];
  await putBytes({ store, spoolDir }, { key: 'a/b', bytes: 'first', signal });
  await putBytes({ store, spoolDir }, { key: 'a/b', bytes: Buffer.from('second'), signal });
  await rm(spoolDir, { recursive: true });
  const read: Buffer[] = [];
  await store.get('a/b', { begin() {}, write: (bytes) => void read.push(Buffer.from(bytes)) });
  expect(Buffer.concat(read).toString()).toBe('second');
});
