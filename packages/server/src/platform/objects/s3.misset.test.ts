import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Refusal } from '../../../test/s3-backend.ts';
import type { ObjectStore } from './objects.ts';
import { describeEachS3, listed, patient, refusal } from './testing/each-s3.ts';

const minutes = 60_000;

/** A clock, a region, a key or an address that is wrong: said by name, and never as if an object were missing. */
describeEachS3((world) => {
  let url: string;
  let store: ObjectStore;
  let file: string;

  beforeEach(async () => {
    url = world.nextUrl();
    store = await world.open(patient, url);
    file = await world.fileOf(Buffer.from('content'));
    await store.put('a', file);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });

  /** Everything that a store is asked for, also for what is not there. */
  const calls: Readonly<Record<string, (asked: ObjectStore) => Promise<unknown>>> = {
    put: (asked) => asked.put('b', file),
    get: (asked) => asked.get('a', join(world.dir, 'got')),
    head: (asked) => asked.head('a'),
    'head of none': (asked) => asked.head('none'),
    list: (asked) => listed(asked),
    remove: (asked) => asked.remove('none'),
    'marker.read': (asked) => asked.marker.read(),
    tryWrite: (asked) => asked.tryWrite(),
  };

  /** What each call says of a store that is set up wrongly. */
  async function saidBy(asked: ObjectStore): Promise<Record<string, string>> {
    const said: Record<string, string> = {};
    for (const [name, call] of Object.entries(calls)) {
      said[name] = (await refusal(call(asked))).detail;
    }
    expect(existsSync(join(world.dir, 'got'))).toBe(false);
    return said;
  }

  function ofAll(text: string): Record<string, unknown> {
    return Object.fromEntries(
      Object.keys(calls).map((name) => [name, expect.stringContaining(text)]),
    );
  }

  test.each([
    ['ahead', 20 * minutes],
    ['behind', -20 * minutes],
  ])(
    'goes by the clock of the store when that of this machine is 20 minutes %s',
    async (_, wrong) => {
      const told: number[] = [];
      for (const call of Object.values(calls)) {
        const fresh = await world.open(patient, url);
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + wrong });
        await call(fresh);
        vi.useRealTimers();
        // A slow answer tells nothing.
        told.push(fresh.clockAheadMillis?.() ?? Number.NaN);
      }
      const known = told.filter((millis) => !Number.isNaN(millis));
      expect(known.length).toBeGreaterThan(0);
      expect(known.filter((millis) => Math.abs(millis - wrong) > 5000)).toEqual([]);
      await rm(join(world.dir, 'got'));
    },
  );

  test('says that the clocks differ where the store does not tell its own', async () => {
    world.s3.behave(() => ({ status: 403, code: 'RequestTimeTooSkewed' }));
    expect(await saidBy(store)).toEqual(
      ofAll(
        'the store says RequestTimeTooSkewed. Set the clocks of this machine and of the store.',
      ),
    );
  });

  const wrongRegion = {
    status: 400,
    code: 'AuthorizationHeaderMalformed',
    message: 'the region "eu-west-7" is wrong; expecting "us-east-1"',
  };
  test('names the region that the store wants', async () => {
    if (world.found === undefined) world.s3.behave(() => wrongRegion);
    const elsewhere = await world.open(patient, url.replace('us-east-1', 'eu-west-7'));
    expect(await saidBy(elsewhere)).toEqual(
      ofAll('AuthorizationHeaderMalformed. Correct the region in SVC_BLOB_URL: it is us-east-1.'),
    );
  });

  test.each([
    ['NoSuchBucket', { status: 404, code: 'NoSuchBucket' }, 'Make the bucket'],
    ['a user that is gone', { status: 404, code: 'XAdminUserNotFound' }, 'Check the access key'],
    ['a page of a proxy', { status: 404 }, 'Check the endpoint'],
  ] satisfies [string, Refusal, string][])(
    'does not take %s with 404 for an object that is missing',
    async (_, refusal, text) => {
      world.s3.behave(() => refusal);
      expect(await saidBy(store)).toEqual(ofAll(text));
    },
  );

  test.each([
    ['AWS_ACCESS_KEY_ID', 'Check the access key', 'InvalidAccessKeyId'],
    ['AWS_SECRET_ACCESS_KEY', 'Check the secret key', 'SignatureDoesNotMatch'],
  ])('says that %s is wrong, and never that an object is missing', async (name, text, code) => {
    // s3rver takes any secret.
    if (world.found === undefined) world.s3.behave(() => ({ status: 403, code }));
    vi.stubEnv(name, 'WRONGWRONGWRONGWRONG');
    const stranger = await world.open(patient, url);
    expect(await saidBy(stranger)).toEqual(ofAll(text));
  });
});
