import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../scripts/bench.mjs', import.meta.url));

/** Each bench, and how many tables its sections print. */
const benches = [
  ['records', 4],
  ['webhooks', 5],
  ['retention', 4],
  ['exports', 3],
  ['console', 5],
  ['http', 1],
  ['scale', 5],
] as const;

/** A bench throws where an answer is wrong, or where the product no longer has what it measures. */
test.each(benches)(
  'every section of the bench of %s still runs',
  async (name, sections) => {
    const args = [script, name, '--smallest'];
    const { stdout } = await run(process.execPath, args, { maxBuffer: 2 ** 24 });
    expect(stdout.match(/^### /gm)?.length).toBeGreaterThanOrEqual(sections);
  },
  300_000,
);
