import { afterAll, beforeAll } from 'vitest';
import { startS3, type TestS3 } from '../../../test/s3.ts';
import { createS3Store } from './s3.ts';
import { testObjectStore } from './testing/conformance.ts';

let s3: TestS3;
let count = 0;

beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.close());

testObjectStore('an object store in S3', async () => {
  const prefix = `store ${++count}/cold`;
  const store = await createS3Store(s3.urlOf(prefix));
  return { store, seed: async (keys, content) => s3.seed(prefix, keys, content) };
});
