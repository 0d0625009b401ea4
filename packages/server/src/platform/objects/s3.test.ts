import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findRealS3, noRealS3 } from '../../../test/real-s3.mjs';
import { startS3, type TestS3 } from '../../../test/s3.ts';
import { createS3Store } from './s3.ts';
import { testObjectStore } from './testing/conformance.ts';

const real = findRealS3();

for (const found of real === null ? [undefined] : [undefined, real]) {
  describe(found?.name ?? 's3rver', () => {
    let s3: TestS3;
    let count = 0;

    beforeAll(async () => {
      s3 = await startS3(found);
    });
    afterAll(() => s3.close());

    testObjectStore('an object store in S3', async () => {
      const prefix = `store ${++count}/cold`;
      const store = await createS3Store(s3.urlOf(prefix));
      return { store, seed: (keys, content) => s3.seed(prefix, keys, content) };
    });
  });
}

if (real === null) {
  test(`the suites of S3 run on s3rver alone: ${noRealS3}`, () => expect(real).toBeNull());
}
