import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What a run has to put away: closers run last in, first out, however the run ends. One that fails does
 * not keep the others from running.
 */
export function openScope() {
  const closers = [];
  let closing;
  const close = () => {
    closing ??= (async () => {
      for (const closer of closers.splice(0).reverse()) {
        await Promise.resolve()
          .then(closer)
          .catch((error) => process.stderr.write(`while cleaning up: ${error.stack}\n`));
      }
    })();
    return closing;
  };
  return {
    defer: (closer) => void closers.push(closer),
    close,
    get isClosing() {
      return closing !== undefined;
    },
  };
}

/** A scope of its own within another: closed by its work's end, or by the outer one's. */
export async function withScope(outer, work) {
  const inner = openScope();
  outer.defer(inner.close);
  try {
    return await work(inner);
  } finally {
    await inner.close();
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Runs `work` and cleans up after it: at its end, when it fails, on Ctrl-C and SIGTERM. */
export async function runInScope(work) {
  const scope = openScope();
  const giveUp = (exitCode, text) => {
    if (scope.isClosing) return;
    process.stderr.write(`\n${text}\ncleaning up\n`);
    scope.close().finally(() => process.exit(exitCode));
  };
  const onSignal = (signal) => giveUp(130, signal);
  const onUncaught = (error) => giveUp(1, error.stack);
  for (const signal of signals) process.on(signal, onSignal);
  process.on('uncaughtException', onUncaught);
  try {
    return await work(scope);
  } catch (error) {
    // What breaks because the ground was taken away is not news; giveUp ends the process.
    if (scope.isClosing) await new Promise(() => {});
    throw error;
  } finally {
    await scope.close();
    for (const signal of signals) process.off(signal, onSignal);
    process.off('uncaughtException', onUncaught);
  }
}

export function makeTempDir(scope) {
  const dir = mkdtempSync(join(tmpdir(), 'svcctl-bench-'));
  scope.defer(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  return dir;
}
