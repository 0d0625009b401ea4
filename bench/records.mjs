import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replaceBetweenMarkers } from './lib/document.mjs';
import { describeMachine } from './lib/machine.mjs';
import { startPostgres } from './lib/postgres.mjs';
import { makeTempDir, runInScope, withScope } from './lib/scope.mjs';
import { formatSeconds } from './lib/table.mjs';
import { benchDatasets } from './records/datasets.mjs';
import { benchExport } from './records/export.mjs';
import { benchIngest } from './records/ingest.mjs';
import { benchPages } from './records/pages.mjs';
import { sizes } from './records/sizes.mjs';

const sections = {
  ingest: benchIngest,
  datasets: benchDatasets,
  pages: benchPages,
  export: benchExport,
};
const documentPath = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));

/**
 * Records: ours against what one would use instead, side by side on one embedded PostgreSQL. Prints a
 * table per section; a whole run that is not quick also writes them into docs/benchmarks.md. A figure
 * short of its goal is shown, not thrown; a wrong answer is thrown.
 */
export async function runBench({ size, only }) {
  const wanted = chooseSections(only);
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
    const isWhole = wanted.length === Object.keys(sections).length;
    if (size === 'quick' || !isWhole || scope.isClosing) return;
    replaceBetweenMarkers(documentPath, 'bench:records', texts.join('\n\n'));
    say(`written to ${join('docs', 'benchmarks.md')}`);
  });
}

function chooseSections(only) {
  const names = Object.keys(sections);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`no section ${unknown}: ${names.join(', ')}`);
  return only.length === 0 ? names : names.filter((name) => only.includes(name));
}

function say(text) {
  process.stderr.write(`${text}\n`);
}
