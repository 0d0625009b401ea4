import { cleanEnvironment, startChild } from '../../bench/lib/child.mjs';
import { programPath } from '../../bench/lib/product.mjs';
import { withScope } from '../../bench/lib/scope.mjs';
import { until } from '../lib/wait.mjs';

const patienceMillis = 600_000;

/**
 * Runs a command of svcctl on a data folder to its end, or to its end by kill -9 after `killAfterMillis`. Answers its
 * exit code, null when it was killed, and what it said.
 */
export function runCommand(scope, dataDir, args, { env = {}, killAfterMillis = Infinity } = {}) {
  return withScope(scope, async (own) => {
    const settings = { SVC_DATA_DIR: dataDir, SVC_LOG_LEVEL: 'error', ...env };
    const child = startChild(own, [programPath, ...args], cleanEnvironment(settings));
    const startedAt = performance.now();
    await until(
      `svcctl ${args[0]} to end`,
      () => {
        if (performance.now() - startedAt > killAfterMillis && !child.hasExited()) {
          process.kill(child.pid, 'SIGKILL');
        }
        return child.hasExited();
      },
      patienceMillis,
    );
    return { code: child.exitCode(), output: child.output() };
  });
}
