import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../kernel/errors.ts';
import { defaultTimeouts } from './io.ts';
import { runCli } from './run.ts';

/**
 * A terminal sends Ctrl-C to the whole group, and npm passes it on once more: within this time a
 * second signal is the same Ctrl-C, not a person losing patience.
 */
const sameSignalMillis = 300;

/** The program: the only place that touches `process`. */
async function main(): Promise<void> {
  const interrupt = new AbortController();
  let firstAt: number | undefined;
  // SIGHUP: the terminal was closed. Node resets an ignored SIGHUP at its start, so nohup loses nothing.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (firstAt !== undefined && now - firstAt > sameSignalMillis) {
        process.exit(130);
      }
      firstAt ??= now;
      interrupt.abort(new AppError('interrupted'));
    });
  }
  const code = await runCli(process.argv.slice(2), {
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interrupt.signal,
    now: Date.now,
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    timeouts: defaultTimeouts,
  });
  // An unread stdin or a connection kept alive must not hold the process.
  process.stderr.write('', () => process.exit(code));
}

await main();
