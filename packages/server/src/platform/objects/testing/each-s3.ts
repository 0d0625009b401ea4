import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { type FoundS3, findRealS3 } from '../../../../test/real-s3.mjs';
import { type S3Behaviour, startS3, type TestS3 } from '../../../../test/s3.ts';
import { AppError } from '../../../kernel/errors.ts';
import type { ObjectStore } from '../objects.ts';
import { createS3Store } from '../s3.ts';
import type { S3Limits } from '../s3-client.ts';

/** What tests of S3 have at hand. */
type S3World = {
  /** The real server; undefined for s3rver. */
  readonly found: FoundS3 | undefined;
  readonly s3: TestS3;
  /** An empty folder for the files of the tests. */
  readonly dir: string;
  /** Opens a store, by default at a prefix of its own; it is closed after the test. */
  open(limits?: S3Limits, url?: string): Promise<ObjectStore>;
  /** Another prefix for each call. */
  nextUrl(): string;
  fileOf(content: Buffer): Promise<string>;
  /** So many requests of a method are answered so, then no more. */
  first(times: number, behaviour: S3Behaviour, method: string): void;
};

export const patient: S3Limits = {
  attempts: 3,
  connectMillis: 10_000,
  answerMillis: 20_000,
  idleMillis: 20_000,
  readMillis: 20_000,
};

/** A file of this size is sent in parts. */
export const manyParts = 20 * 1024 * 1024;

/** Runs a suite on s3rver and, where there is one, on a real server. */
export function describeEachS3(suite: (world: S3World) => void): void {
  const real = findRealS3();
  for (const found of real === null ? [undefined] : [undefined, real]) {
    describe(`through ${found?.name ?? 's3rver'}`, () => suite(createWorld(found)));
  }
}

function createWorld(found: FoundS3 | undefined): S3World {
  let s3: TestS3;
  let dir: string;
  let stores: ObjectStore[] = [];
  let count = 0;

  beforeAll(async () => {
    s3 = await startS3(found);
    dir = await mkdtemp(join(tmpdir(), 'svcctl-s3-'));
  });
  beforeEach(() => {
    s3.behave(() => 'pass');
    s3.clear();
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    stores = [];
  });
  afterAll(async () => {
    await s3.close();
    await rm(dir, { recursive: true, force: true });
  });

  const world: S3World = {
    found,
    get s3() {
      return s3;
    },
    get dir() {
      return dir;
    },
    async open(limits = patient, url = world.nextUrl()) {
      const store = await createS3Store(url, limits);
      stores.push(store);
      return store;
    },
    nextUrl: () => s3.urlOf(`world/${++count}`),
    async fileOf(content) {
      const path = join(dir, randomBytes(8).toString('hex'));
      await writeFile(path, content);
      return path;
    },
    first(times, behaviour, method) {
      let left = times;
      s3.behave((asked) => (asked === method && left-- > 0 ? behaviour : 'pass'));
    },
  };
  return world;
}

/** Returns the 503 that the work throws. */
export async function refusal(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    (answer) => new Error(`it answered ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw error;
  expect(error.code).toBe('cold_tier_unavailable');
  return error;
}

export async function listed(store: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  return keys;
}
