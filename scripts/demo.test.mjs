import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const refusal = /^error: .*\nusage: npm run demo -- \[--limit N\].*\n$/;

test.each([
  ['--help', 0, '', /^usage: npm run demo -- \[--limit N\].*\n$/],
  ['--limits=5', 2, refusal, ''],
  ['--limit=x', 2, refusal, ''],
  ['--limit=0', 2, refusal, ''],
])('the demo answers %s by its usage, and builds nothing', (word, code, err, out) => {
  const script = fileURLToPath(new URL('demo.mjs', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, word], {
    encoding: 'utf8',
  });
  expect(status).toBe(code);
  expect(stderr).toMatch(err);
  expect(stdout).toMatch(out);
});
