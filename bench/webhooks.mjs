import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replaceBetweenMarkers } from './lib/document.mjs';
import { describeMachine } from './lib/machine.mjs';
import { startPostgres } from './lib/postgres.mjs';
import { makeTempDir, runInScope, withScope } from './lib/scope.mjs';
import { formatSeconds } from './lib/table.mjs';
import { benchDeadLetters } from './webhooks/dead-letters.mjs';
import { benchIsolation } from './webhooks/isolation.mjs';
import { benchLatency } from './webhooks/latency.mjs';
import { benchRearm } from './webhooks/rearm.mjs';
import { sizes } from './webhooks/sizes.mjs';
import { benchThroughput } from './webhooks/throughput.mjs';

const sections = {
  throughput: benchThroughput,
  latency: benchLatency,
  isolation: benchIsolation,
  'dead-letters': benchDeadLetters,
  rearm: benchRearm,
};
const documentPath = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));

/**
 * Webhooks: deliveries against bare signed POSTs to the same receiver; latency, isolation and the
 * dead-letter queue at a million rows. Prints a table per section; a whole run that is not quick also
 * writes them into docs/benchmarks.md. A figure short of its goal is shown, a wrong answer is thrown.
 */
export async function runBench({ size, only }) {
  const names = Object.keys(sections);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`no section ${unknown}: ${names.join(', ')}`);
  const wanted = only.length === 0 ? names : names.filter((name) => only.includes(name));
  const startedAt = performance.now();
  await runInScope(async (scope) => {
    const dir = makeTempDir(scope);
    const postgres = await startPostgres(scope, dir);
    const texts = [describeMachine(await postgres.version())];
    if (size === 'quick')
      texts.push('**Quick run: small sizes, few samples. For trying out, not for quoting.**');
    process.stdout.write(`${texts.join('\n\n')}\n`);
    for (const name of wanted) {
      const text = await withScope(scope, (own) =>
        sections[name]({ scope: own, dir, postgres, sizes: sizes[size], say }),
      );
      process.stdout.write(`\n${text}\n`);
      texts.push(text);
    }
    say(`done in ${formatSeconds(performance.now() - startedAt)}`);
    if (size === 'quick' || wanted.length < names.length || scope.isClosing) return;
    replaceBetweenMarkers(documentPath, 'bench:webhooks', texts.join('\n\n'));
    say(`written to ${join('docs', 'benchmarks.md')}`);
  });
}

function say(text) {
  process.stderr.write(`${text}\n`);
}
