import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchFirstRows } from './console/first-rows.mjs';
import { benchIdle } from './console/idle.mjs';
import { startBrowser } from './console/open-console.mjs';
import { storeRecords } from './console/records.mjs';
import { benchScripts } from './console/scripts.mjs';
import { benchScroll } from './console/scroll.mjs';
import { sizes } from './console/sizes.mjs';
import { benchToggle } from './console/toggle.mjs';
import { replaceBetweenMarkers } from './lib/document.mjs';
import { describeMachine } from './lib/machine.mjs';
import { connect, startPostgres } from './lib/postgres.mjs';
import { makeTempDir, runInScope, withScope } from './lib/scope.mjs';
import { startService } from './lib/service.mjs';
import { formatCount, formatSeconds } from './lib/table.mjs';
import { generateLeaves } from './records/generate-leaves.mjs';

const sections = {
  scripts: benchScripts,
  rows: benchFirstRows,
  toggle: benchToggle,
  scroll: benchScroll,
  idle: benchIdle,
};
const documentPath = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));

/**
 * The console in a real browser, on a service with a million leaves. Prints a table per section; a whole
 * run that is not quick also writes them into docs/benchmarks.md. A figure short of its goal is shown,
 * not thrown.
 */
export async function runBench({ size, only }) {
  const wanted = chooseSections(only);
  const startedAt = performance.now();
  await runInScope(async (scope) => {
    const dir = makeTempDir(scope);
    const postgres = await startPostgres(scope, dir);
    const machine = describeMachine(await postgres.version());
    const service = await startFilled(scope, { dir, postgres, leaves: sizes[size].leaves });
    const browser = await startBrowser(scope, service);
    const texts = [`${machine} · Chromium ${browser.version}`];
    if (size === 'quick')
      texts.push('**Quick run: small sizes, few samples. For trying out, not for quoting.**');
    process.stdout.write(`${texts.join('\n\n')}\n`);
    for (const name of wanted) {
      say(name);
      const text = await withScope(scope, (own) =>
        sections[name]({ scope: own, service, browser, sizes: sizes[size], say }),
      );
      process.stdout.write(`\n${text}\n`);
      texts.push(text);
    }
    say(`done in ${formatSeconds(performance.now() - startedAt)}`);
    const isWhole = wanted.length === Object.keys(sections).length;
    if (size === 'quick' || !isWhole || scope.isClosing) return;
    replaceBetweenMarkers(documentPath, 'bench:console', texts.join('\n\n'));
    say(`written to ${join('docs', 'benchmarks.md')}`);
  });
}

/** A service with made-up leaves, and one tenant that has records behind it. */
async function startFilled(scope, { dir, postgres, leaves }) {
  const url = await postgres.createDatabase(scope, 'bench_console');
  const service = await startService(scope, { dir, name: 'console', databaseUrl: url });
  say(`generating ${formatCount(leaves.tenants * leaves.stores * leaves.months)} leaves`);
  await withScope(scope, async (own) => {
    await generateLeaves(await connect(own, url), { ...leaves, hasDays: false });
    await storeRecords(own, service);
  });
  return service;
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
