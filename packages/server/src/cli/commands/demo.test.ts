import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder, run } from '../testing/run.ts';

const isLinux = process.platform === 'linux';

test.runIf(isLinux)('the demo says where the system lets nobody make its folder', async () => {
  const { code, stderr } = await run(['demo'], { env: { SVC_DATA_DIR: '/proc/svcctl/demo' } });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('SVC_DATA_DIR: ') });
  expect(stderr).toContain('ENOENT');
});

test.each([
  ['a database', { DATABASE_URL: 'postgresql://svcctl@127.0.0.1:1/svcctl' }, 'DATABASE_URL is set'],
  ['a store', { SVC_BLOB_URL: 's3://bucket/cold' }, 'SVC_BLOB_URL is set'],
  ['a data folder', { SVC_DATA_DIR: './data' }, "holds something that is not the demo's"],
])('the demo refuses %s that may be in use', async (_name, env, said) => {
  const cwd = await newFolder();
  try {
    await mkdir(join(cwd, 'data'));
    await writeFile(join(cwd, 'data', 'admin-token'), '');
    const { code, stderr } = await run(['demo'], { cwd, env });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(said) });
    expect(await readdir(cwd)).toEqual(['data']);
    expect(await readdir(join(cwd, 'data'))).toEqual(['admin-token']);
  } finally {
    await rm(cwd, { recursive: true });
  }
});
