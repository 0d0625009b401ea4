import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Starts a process that outlives it, in the folder for temporary files, and says where and which. */
const leaver = `
  const { spawn } = require('node:child_process');
  const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    cwd: process.env.TMPDIR, detached: true, stdio: 'ignore',
  });
  left.unref();
  console.log(JSON.stringify({ folder: process.env.TMPDIR, pid: left.pid }));`;

/** The same, and goes on, as tests do. */
const staying = `${leaver} setInterval(() => {}, 1000);`;

test.each([
  ['has ended', leaver, undefined, 0],
  ['is told to end', staying, 'SIGTERM', 143],
  ['is interrupted', staying, 'SIGINT', 130],
])('nothing that was started is left when the run %s', async (_when, program, signal, code) => {
  const module = new URL('program.mjs', import.meta.url);
  const main = `import { runLeavingNothing } from ${JSON.stringify(module.href)};
    await runLeavingNothing(process.execPath, ['-e', ${JSON.stringify(program)}]);`;
  const run = spawn(process.execPath, ['--input-type=module', '-e', main], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(run, 'exit');
  const [text] = await once(run.stdout, 'data');
  const { folder, pid } = JSON.parse(String(text));
  if (signal !== undefined) run.kill(signal);
  expect(await ended).toEqual([code, null]);
  expect(existsSync(folder)).toBe(false);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
