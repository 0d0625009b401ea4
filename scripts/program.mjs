// What several scripts share. It has no dependencies, because setup runs before anything is installed.
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** Whether the script with this `import.meta.url` was started directly, rather than imported by another. */
export function isMain(moduleUrl) {
  const [, started] = process.argv;
  return started !== undefined && realpathSync(started) === fileURLToPath(moduleUrl);
}

/** The path of a program that npm installed. */
export function installed(name) {
  return join(root, 'node_modules', '.bin', name);
}

/**
 * Runs a program in the root of the repository and answers its exit code and output. With `inherit` the output goes to
 * our own instead. Throws if the program cannot start.
 */
export async function run(command, args, { inherit = false, env = process.env } = {}) {
  const stdio = inherit ? 'inherit' : ['ignore', 'pipe', 'pipe'];
  const child = spawn(command, args, { cwd: root, stdio, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  return { code, output };
}
