import { setTimeout as delay } from 'node:timers/promises';
import { readRelease } from '../config/release.ts';
import { AppError } from '../kernel/errors.ts';
import { defaultTimeouts } from './io.ts';

/**
 * A terminal sends Ctrl-C to all processes of a group, and npm passes it on once more. Within this time a second signal
 * counts as the same Ctrl-C, not as a person who loses patience.
 */
const sameSignalMillis = 300;

/** The program. Only here is `process` used. */
async function main(): Promise<void> {
  const words = process.argv.slice(2);
  if (words.length === 1 && words[0] === '--version') return printRelease();
  // The client of S3 would tell everybody, at each command, which Node its later releases want.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  const interrupt = new AbortController();
  let lastAt: number | undefined;
  let handleNext: (() => void) | null = null;
  // SIGHUP means that the terminal was closed. Node resets an ignored SIGHUP at its start, so this takes nothing from
  // nohup.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (lastAt !== undefined && now - lastAt <= sameSignalMillis) return;
      lastAt = now;
      const isFirst = !interrupt.signal.aborted;
      if (!isFirst && handleNext === null) process.exit(130);
      if (isFirst) interrupt.abort(new AppError('interrupted'));
      else handleNext?.();
      handleNext = null;
    });
  }
  const { runCli } = await import('./run.ts');
  const code = await runCli(words, {
    env: process.env,
    cwd: process.cwd(),
    // Asked by few, and it takes time to find out.
    get platform() {
      return describePlatform();
    },
    // Most commands read nothing, and the stream takes time to make.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interrupt.signal,
    onNextSignal(handle) {
      handleNext = handle;
    },
    now: Date.now,
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    timeouts: defaultTimeouts,
  });
  // An unread stdin, or a connection that is kept alive, must not keep the process running.
  process.stderr.write('', () => process.exit(code));
}

/** Scripts ask for the version often, so nothing is loaded that it does not need. */
function printRelease(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    // A reader that has hung up has seen enough.
    if (code !== 'EPIPE') process.exitCode = 1;
  });
  process.stdout.write(`${readRelease()}\n`);
}

/** The system, the processor and the C library. Only a report of Node tells the library. */
function describePlatform(): string {
  const { platform, arch, report } = process;
  if (platform !== 'linux') return `${platform} ${arch}`;
  // Without the network, because the names of open connections would be looked up.
  const { header } = Object.assign(report, { excludeNetwork: true }).getReport() as {
    header: { glibcVersionRuntime?: string };
  };
  return `linux ${arch} ${header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'}`;
}

// Not awaited, because this becomes CommonJS when it is built. It cannot fail: runCli never throws.
void main();
