import { findRealS3, noRealS3 } from '../packages/server/test/real-s3.mjs';
import { runSections } from './lib/run-sections.mjs';
import { benchJobs } from './s3/jobs.mjs';
import { benchMoving } from './s3/moving.mjs';
import { benchPages } from './s3/pages.mjs';
import { sizes } from './s3/sizes.mjs';
import { startWorld } from './s3/world.mjs';

const sections = { moving: benchMoving, pages: benchPages, jobs: benchJobs };

/** Moves, cold pages and export jobs on a real S3 server against the same on a folder. */
export async function runBench({ size, only }) {
  const found = findRealS3();
  if (found === null) {
    process.stderr.write(`nothing to measure: ${noRealS3}\n`);
    return [];
  }
  const start = (bench) => startWorld({ ...bench, found });
  return runSections({ name: 's3', sections, sizes, start }, { size, only });
}
