import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeDataDir } from './data-dir.ts';

test('a data folder is made for its user alone, and one that cannot be made is told by its setting', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svcctl-data-dir-'));
  try {
    const dataDir = join(folder, 'new', 'data');
    await makeDataDir({ dataDir });
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    await makeDataDir({ dataDir });
    await writeFile(join(folder, 'file'), '');
    await expect(makeDataDir({ dataDir: join(folder, 'file', 'data') })).rejects.toMatchObject({
      code: 'settings_invalid',
      detail: expect.stringMatching(/^SVC_DATA_DIR: .*ENOTDIR.* give it to the user/),
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
