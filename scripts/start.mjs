// npm start: installs and builds what is missing, then runs `svcctl serve` with the arguments given.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { build } from './build.mjs';
import { root } from './program.mjs';
import { ensureInstalled } from './setup.mjs';

try {
  await ensureInstalled();
  await build();
  process.exitCode = await serve(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
}

/** Ends when the service has ended, with its exit code. */
async function serve(args) {
  const program = join(root, 'packages', 'server', 'bin', 'svcctl.js');
  const child = spawn(process.execPath, [program, 'serve', ...args], { stdio: 'inherit' });
  // Ctrl-C on a terminal reaches the service by itself, and npm sends it to us a second time: the
  // service takes what comes at once for one signal. A signal to this process alone needs passing on.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}
