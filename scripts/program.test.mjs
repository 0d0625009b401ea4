import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Starts processes that outlive it, in the folders of the run, and says where and which. */
const leaver = `
  const { spawn } = require('node:child_process');
  const [folder, room] = [process.env.TMPDIR, process.env.SVC_TEST_ROOM];
  const leave = (folder, cwd, env) => {
    const options = { cwd, env, detached: true, stdio: 'ignore' };
    const made = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], options);
    made.unref();
    return { folder, pid: made.pid };
  };
  const left = [leave(folder, folder, {}), leave(room, room, {}), leave(folder, '/', { TMPDIR: folder })];
  console.log(JSON.stringify(left));`;

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
  const left = JSON.parse(String(text));
  if (signal !== undefined) run.kill(signal);
  expect(await ended).toEqual([code, null]);
  expect(left.map(({ folder }) => existsSync(folder))).toEqual([false, false, false]);
  await expect.poll(() => left.filter(({ pid }) => isAlive(pid))).toEqual([]);
});

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
