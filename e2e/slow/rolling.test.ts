import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('restarts fail no call, a kill none but those that the killed process had, and nothing is lost', async () => {
  const script = fileURLToPath(new URL('../../scripts/sim.mjs', import.meta.url));
  const args = [script, '--seed', '16', '--minutes', '0', '--steps', '80', '--profile', 'rolling'];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toContain('fault: restart a process');
  expect(stdout).toContain('fault: kill a process');
  expect(stdout).toContain('no fault');
}, 300_000);
