import { spawn } from 'node:child_process';

const killAfterMillis = 20_000;
const keptOutput = 8192;

/**
 * A Node child process; with `onMessage` it can be sent messages, and what it sends is handed over.
 *
 * @param {any} scope
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {(message: any) => void} [onMessage]
 */
export function startChild(scope, args, env, onMessage) {
  return startProgram(scope, process.execPath, args, { env, onMessage });
}

/**
 * A child process that the scope ends (SIGTERM, then SIGKILL). What it last said is kept for errors.
 *
 * @param {any} scope
 * @param {string} file
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, onMessage?: ((message: any) => void) | undefined }} options
 * @returns {any}
 */
export function startProgram(scope, file, args, { env, onMessage } = {}) {
  const channel = onMessage === undefined ? 'ignore' : 'ipc';
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe', channel] });
  if (onMessage !== undefined) child.on('message', onMessage);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-keptOutput);
    });
  }
  const exited = new Promise((resolve) => child.once('exit', resolve));
  // The last resort, should this process end without its scope.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  scope.defer(async () => {
    await stop(child, exited);
    process.off('exit', kill);
  });
  return {
    pid: child.pid,
    send: (message) => child.send(message),
    output: () => output,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    /** Null while it runs, and when a signal ended it. */
    exitCode: () => child.exitCode,
  };
}

async function stop(child, exited) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMillis);
  await exited;
  clearTimeout(timer);
}

/** The environment without settings of svcctl that happen to be set here, and with these. */
export function cleanEnvironment(settings = {}) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(SVC_|DATABASE_URL$|PG|NODE_OPTIONS$)/.test(name),
  );
  return { ...Object.fromEntries(inherited), ...settings };
}

/** Asks `probe` until it answers something other than undefined; throws with the child's last words. */
export async function untilReady(child, probe, timeoutMillis = 60_000) {
  const deadline = performance.now() + timeoutMillis;
  while (performance.now() < deadline && !child.hasExited()) {
    const answer = await probe();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`a child process did not become ready; it said:\n${child.output()}`);
}
