import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { findRealS3 } from '../../packages/server/test/real-s3.mjs';
import { startS3 } from '../../packages/server/test/s3.ts';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../scripts/bench.mjs', import.meta.url));

/** Each bench, and how many tables its sections print. */
const benches = [
  ['records', 5],
  ['webhooks', 5],
  ['retention', 4],
  ['exports', 3],
  ['readers', 2],
  ['console', 6],
  ['http', 1],
  ['scale', 5],
  ['s3', 3],
  ['ways', 1],
] as const;

/** A bench throws where an answer is wrong, or where the product no longer has what it measures. */
test.each(benches)(
  'every section of the bench of %s still runs',
  async (name, sections) => {
    const args = [script, name, '--smallest'];
    const s3 = name === 's3' && findRealS3() === null ? await startS3() : undefined;
    // Where there is no real server, s3rver stands in.
    const env = {
      ...process.env,
      SVC_BENCH_CLUSTER: inject('preparedCluster'),
      ...(s3 !== undefined && { SVC_TEST_S3: withKeys(s3.url) }),
    };
    const { stdout } = await run(process.execPath, args, { maxBuffer: 2 ** 24, env });
    await s3?.close();
    expect(stdout.match(/^### /gm)?.length).toBeGreaterThanOrEqual(sections);
  },
  300_000,
);

/** The URL of a store with the credentials that the environment has, as SVC_TEST_S3 is given. */
function withKeys(url: string): string {
  const { AWS_ACCESS_KEY_ID: key = '', AWS_SECRET_ACCESS_KEY: secret = '' } = process.env;
  return url.replace('s3://', `s3://${key}:${secret}@`);
}
