// npm test: installs and builds what is missing, checks, runs all tests. Arguments go to vitest.
// Ends with one line `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from './build.mjs';
import { check } from './check.mjs';
import { installed, isMain, runLeavingNothing } from './program.mjs';
import { ensureInstalled } from './setup.mjs';

/**
 * Answers the counts of a vitest JSON report. A file that failed without a failed test in it counts as one failure: it
 * could not be loaded, or one of its hooks threw.
 */
export function countResults(report) {
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles.length,
  };
}

async function main(args) {
  await ensureInstalled();
  await build();
  const isClean = await check();
  const { passed, failed } = await runTests(args);
  if (!isClean) say('npm run check failed (see above); it counts as one failed test.');
  finish(passed, isClean ? failed : failed + 1);
}

async function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), 'svcctl-report-'));
  const report = join(folder, 'report.json');
  try {
    const { code } = await runLeavingNothing(installed('vitest'), [
      'run',
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
      ...args,
    ]);
    const counts = countResults(JSON.parse(readFileSync(report, 'utf8')));
    if (code === 0 || counts.failed > 0) return counts;
    say(
      `vitest ended with ${code} though no test failed (see above); it counts as one failed test.`,
    );
    return { ...counts, failed: 1 };
  } catch (error) {
    say(`vitest did not finish: ${error.message}`);
    return { passed: 0, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

function finish(passed, failed) {
  say(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

if (isMain(import.meta.url)) {
  await main(process.argv.slice(2)).catch((error) => {
    say(`error: ${error.message}`);
    finish(0, 1);
  });
}
