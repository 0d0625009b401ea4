// npm start: installs and builds what is missing, then runs `svcctl serve` with the arguments given.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { build } from './build.mjs';
import { root, tellingFaults } from './program.mjs';
import { ensureInstalled } from './setup.mjs';

await tellingFaults(async () => {
  await ensureInstalled();
  await build();
  process.exitCode = await serve(process.argv.slice(2));
});

/** Runs the service, and ends with its exit code when it ends. */
async function serve(args) {
  const program = join(root, 'packages', 'server', 'bin', 'svcctl.cjs');
  const child = spawn(process.execPath, [program, 'serve', ...args], { stdio: 'inherit' });
  // A signal to this process alone has to be passed on. Ctrl-C on a terminal reaches the service directly, too, and npm
  // sends it to us a second time; the service counts signals that come together as one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}
