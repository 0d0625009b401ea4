import { spawnSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { madeFolder } from '../../../test/folder.ts';
import { AppError } from '../../kernel/errors.ts';
import { makeSpoolDir, openObjectStore } from './open-store.ts';
import { parseS3Url } from './s3-url.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('refuses as a wrong setting', () => {
  test.each([
    ['another scheme', 'ftp://host/folder', 'does not begin with file:/// or s3://'],
    ['no URL', '/folder', 'does not begin with file:/// or s3://'],
    ['a file URL with two slashes', 'file://folder/below', 'with three slashes'],
    ['the root of the machine', 'file:///', 'names no folder'],
    ['a file URL with an encoded slash', 'file:///a%2Fb', 'names no folder'],
    ['a file URL with parameters', 'file:///folder?a=b', '%3F'],
    ['an S3 URL without a bucket', 's3:///prefix', 'names no bucket'],
    ['a bucket that cannot be one', 's3://a_/prefix', 'names no bucket'],
    ['an unknown parameter', 's3://bucket/p?regoin=eu', 'unknown parameter regoin'],
    ['an endpoint without scheme', 's3://bucket/p?endpoint=minio:9000', 'begin with https://'],
    ['a wrong pathStyle', 's3://bucket/p?pathStyle=yes', 'pathStyle=yes'],
    ['a port at the bucket', 's3://bucket:9000/p', '?endpoint='],
    ['a prefix that leads out', 's3://bucket/a/%2e%2e%2Fb', '. or ..'],
    ['wrong percent-encoding', 's3://bucket/100%', 'percent-encoding'],
  ])('%s', async (_, url, detail) => {
    const error = await openObjectStore(url, tmpdir()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'settings_invalid', exitCode: 2 });
    expect((error as AppError).detail).toContain('SVC_BLOB_URL');
    expect((error as AppError).detail).toContain(detail);
  });

  test.each(['s3://KEY:SECRET@bucket/p', 's3://bucket/p?endpoint=https://KEY:SECRET@host'])(
    'credentials in %s, without repeating them',
    async (url) => {
      const error = await openObjectStore(url, tmpdir()).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'settings_invalid' });
      expect((error as AppError).detail).not.toMatch(/KEY:|SECRET@/);
    },
  );

  test('S3 without any region', async () => {
    vi.stubEnv('AWS_REGION', '');
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
    const error = await openObjectStore('s3://bucket/p', tmpdir()).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'settings_invalid' });
    expect((error as AppError).detail).toContain('?region=');
  });
});

test('opens the folder cold below the data folder when nothing is set', async () => {
  const store = await openObjectStore(undefined, '/data');
  expect(store.location).toBe('/data/cold');
  expect(store.pathOf('a/b')).toBe('/data/cold/a/b');
});

test('opens the folder of a file URL', async () => {
  const store = await openObjectStore('file:///mnt/cold%20data/below/', tmpdir());
  expect(store.location).toBe(join('/mnt', 'cold data', 'below'));
});

test('opens a prefix of a bucket', async () => {
  const store = await openObjectStore('s3://bucket/a/b%20c/?region=eu-central-1', tmpdir());
  expect(store.location).toBe('s3://bucket/a/b c');
  expect(store.pathOf('a/b')).toBeNull();
  await store.close();
});

test.each([
  [
    's3://bucket',
    { bucket: 'bucket', prefix: '', endpoint: undefined, region: undefined, pathStyle: false },
  ],
  [
    's3://my.bucket/p/q?endpoint=https://minio:9000',
    {
      bucket: 'my.bucket',
      prefix: 'p/q',
      endpoint: 'https://minio:9000/',
      region: 'us-east-1',
      pathStyle: true,
    },
  ],
  [
    's3://bucket/p?endpoint=http%3A%2F%2Fhost&region=auto&pathStyle=false',
    { bucket: 'bucket', prefix: 'p', endpoint: 'http://host/', region: 'auto', pathStyle: false },
  ],
])('reads %s', (url, place) => {
  expect(parseS3Url(url)).toEqual(place);
});

const parent = madeFolder();

test('spool folders of processes that are gone are cleared away, all others stay', async () => {
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
